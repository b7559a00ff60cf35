"""Which model answers each role, which key it needs, and which prices are told of it: pure functions of the config and the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

from tracebench_core.specs import LLMConfig, Mode, ModelConfig, ModelIdentity, Price, Role
from tracebench_gateway.credentials import KEY_VARIABLES
from tracebench_gateway.needs import NEEDS, Need, unmet
from tracebench_runs.prices import PriceTable

ROLES: tuple[Role, ...] = get_args(Role)
STUB = ModelIdentity(provider="stub", model="stub")
STUB_WITH_ANSWERS = ModelIdentity(provider="stub", model="stub-with-answers")
"""The stub that shows the answers that tasks ship: by its name in every table, and in a job's id, it is told from the other."""
DEFAULT_MODEL = "gpt-4o-mini"
DEFAULT_OPENROUTER_MODEL = "openai/gpt-4o-mini"
FAMILIES = (
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    ("deepseek", "deepseek"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("grok", "xai"),
    ("command", "cohere"),
)
"""Providers told by the start of a bare model name; every other bare name is taken for an OpenAI model."""
PREFIXES = frozenset(NEEDS) | {"stub"}
"""Providers that may stand before a model's name. Any other prefix is a plugin's provider, or a mistake: never OpenAI."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0"})  # noqa: S104 - compared with, never bound to


class MissingKey(NamedTuple):
    """A key without which no job of the run can ask its model."""

    variable: str
    provider: str
    roles: tuple[Role, ...]


def role_config(llm: LLMConfig, role: Role) -> ModelConfig:
    """Return what holds for `role`: its own fields over the defaults of all roles; without a model of its own, the first on its list."""
    every = ModelConfig(**{name: getattr(llm, name) for name in ModelConfig.model_fields})
    if role not in llm.roles:
        return every
    config = llm.roles[role]
    own = _over(every, config)
    if config.model is None and config.models:
        name, first = next(iter(config.models.items()))
        return _over(own, first.model_copy(update={"model": first.model or name}))
    return own


def model_config(llm: LLMConfig, role: Role, name: str) -> ModelConfig:
    """Return what holds for a model on a role's list; any other name is the role's own model."""
    own = role_config(llm, role)
    listed = llm.roles[role].models.get(name) if role in llm.roles else None
    return own if listed is None else _over(own, listed.model_copy(update={"model": listed.model or name}))


def sampled(given: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """Return the sampling of a call with what a model's config says where the caller says nothing."""
    sampling = dict(given)
    for name in ("temperature", "top_p", "seed", "reasoning_effort"):
        if (value := getattr(config, name)) is not None:
            sampling.setdefault(name, value)
    if config.max_tokens is not None and "max_completion_tokens" not in sampling:
        sampling.setdefault("max_tokens", config.max_tokens)
    if config.extra_body:
        sampling["extra_body"] = dict(config.extra_body)
    return sampling


def names_of(identity: ModelIdentity) -> dict[str, ModelIdentity]:
    """Return the models that a role may ask, by the name they are asked for; its own comes first."""
    own = identity.model_copy(update={"others": ()}) if identity.others else identity
    return {identity.model: own} | dict(identity.others)


def every_model(models: Mapping[Role, ModelIdentity]) -> Iterator[tuple[Role, str, ModelIdentity]]:
    """Yield each model that a run may ask, with its role and the name on the role's list."""
    for role, identity in models.items():
        for name, model in names_of(identity).items():
            yield role, name, model


def resolve_models(
    llm: LLMConfig, *, mode: Mode, environ: Mapping[str, str], replay_from: str | None = None
) -> dict[Role, ModelIdentity]:
    """Return who answers each role.

    A model that the config leaves open is `$TRACE_LITELLM_MODEL`, else `$DEFAULT_LITELLM_MODEL`, else a small OpenAI
    model, through OpenRouter where only its key is set. In stub mode every role is answered by `stub`. In replay mode a role
    whose model the config leaves open is answered by the recorded one, and always where the stub was recorded.

    Raises:
        RunDirError: when `replay_from` holds no recording that can be read.
    """
    if mode == "stub":
        return _stubs(llm, STUB_WITH_ANSWERS if llm.stub == "answers" else STUB)
    resolved = {role: _with_list(llm, role, environ) for role in ROLES}
    if mode == "replay" and replay_from is not None:
        from tracebench_gateway.cassette.player import recorded_models  # noqa: PLC0415 - for replays alone

        found = recorded_models(Path(replay_from))
        for role, model in found.items():
            if model in {STUB, STUB_WITH_ANSWERS}:
                resolved[role] = _stubs(llm, model)[role]
            elif role_config(llm, role).model is None:
                resolved[role] = model
    return resolved


def missing_key(llm: LLMConfig, *, mode: Mode, environ: Mapping[str, str]) -> MissingKey | None:
    """Return the first key that real mode needs and that is not set, or None. A server on loopback needs none."""
    return next(missing_keys(llm, environ=environ), None) if mode == "real" else None


def missing_keys(llm: LLMConfig, *, environ: Mapping[str, str]) -> Iterator[MissingKey]:
    """Yield the keys that real mode needs and that are not set."""
    needed: dict[tuple[str, str], list[Role]] = {}
    for role, name, identity in every_model(resolve_models(llm, mode="real", environ=environ)):
        config = model_config(llm, role, name)
        variable = key_variable(config, identity)
        if variable and not any(environ.get(v) for v in _may_hold(variable, config, identity)):
            needed.setdefault((variable, identity.provider), []).append(role)
    for (variable, provider), roles in needed.items():
        yield MissingKey(variable, provider, tuple(roles))


def unmet_needs(llm: LLMConfig, *, environ: Mapping[str, str]) -> Iterator[tuple[ModelIdentity, Need]]:
    """Yield what real mode needs and has not, beside keys of one piece, which `missing_key` tells."""
    told = set()
    for role, name, identity in every_model(resolve_models(llm, mode="real", environ=environ)):
        for need in unmet(model_config(llm, role, name), identity, environ):
            if need.variables[0] != KEY_VARIABLES.get(identity.provider) and (identity.provider, need) not in told:
                told.add((identity.provider, need))
                yield identity, need


def _may_hold(variable: str, config: ModelConfig, identity: ModelIdentity) -> list[str]:
    """Return the variables that may hold a key: the one that the config names, or all that the provider is known to look for."""
    needs = [] if config.api_key_env else NEEDS.get(identity.provider, [])
    return next((variables for variables in needs if variable in variables), [variable])


def key_variable(config: ModelConfig, identity: ModelIdentity) -> str | None:
    """Return the name of the variable that must hold this model's key; None where no key is needed."""
    if config.api_key_env:
        return config.api_key_env
    if identity.base_url and urlsplit(identity.base_url).hostname in LOOPBACK:
        return None
    return KEY_VARIABLES.get(identity.provider)


def unpriced_models(llm: LLMConfig, models: Mapping[Role, ModelIdentity]) -> list[ModelIdentity]:
    """Return the models, each once, whose price is unknown: a budget in USD cannot be kept with them."""
    table = PriceTable(prices_of(llm, models))
    asked = dict.fromkeys(identity for _, _, identity in every_model(models))
    return [identity for identity in asked if table.price(identity) is None]


def prices_of(llm: LLMConfig, models: Mapping[Role, ModelIdentity]) -> dict[str, Price]:
    """Return the config's prices: the table's, and those that stand beside models on a role's list."""
    beside = {
        f"{identity.provider}/{identity.model}": listed.prices
        for role, name, identity in every_model(models)
        if identity.provider != "stub"
        and role in llm.roles
        and (listed := llm.roles[role].models.get(name)) is not None
        and listed.prices is not None
    }
    return llm.prices | beside


def _stubs(llm: LLMConfig, stub: ModelIdentity) -> dict[Role, ModelIdentity]:
    return {role: stub.model_copy(update={"others": _listed(llm, role, lambda _: stub)}) for role in ROLES}


def _over(default: ModelConfig, own: ModelConfig) -> ModelConfig:
    """Return `own` where it says something, else `default`; another provider's address and key are of no use to it."""
    said = {name: value for name in ModelConfig.model_fields if (value := getattr(own, name)) not in (None, {})}
    kept = default.model_dump()
    if "provider" in said:
        kept |= {"base_url": None, "api_key_env": None}
    return ModelConfig(**kept | said)


def _with_list(llm: LLMConfig, role: Role, environ: Mapping[str, str]) -> ModelIdentity:
    own = _resolve(role_config(llm, role), environ)
    others = _listed(llm, role, lambda name: _resolve(model_config(llm, role, name), environ))
    return own.model_copy(update={"others": others}) if others else own


def _listed(
    llm: LLMConfig, role: Role, resolve: Callable[[str], ModelIdentity]
) -> tuple[tuple[str, ModelIdentity], ...]:
    return tuple((name, resolve(name)) for name in llm.roles[role].models) if role in llm.roles else ()


def _resolve(config: ModelConfig, environ: Mapping[str, str]) -> ModelIdentity:
    provider = config.provider
    model = config.model or environ.get("TRACE_LITELLM_MODEL") or environ.get("DEFAULT_LITELLM_MODEL")
    if model is None:
        provider = provider or _default_provider(config, environ)
        model = DEFAULT_OPENROUTER_MODEL if provider == "openrouter" else DEFAULT_MODEL
    prefix, slash, rest = model.partition("/")
    if slash and prefix == provider:
        model = rest
    elif provider is None:
        is_named = bool(slash) and (prefix in PREFIXES or (config.base_url is None and not config.api_key_env))
        provider, model = (prefix, rest) if is_named else (_family(model, config), model)
    base_url = config.base_url
    if base_url is None and provider == "openai":
        base_url = environ.get("OPENAI_API_BASE") or environ.get("OPENAI_BASE_URL") or None
    return ModelIdentity(provider=provider, model=model, base_url=base_url)


def _default_provider(config: ModelConfig, environ: Mapping[str, str]) -> str:
    if config.base_url or config.api_key_env or environ.get("OPENAI_API_KEY"):
        return "openai"
    return "openrouter" if environ.get("OPENROUTER_API_KEY") else "openai"


def _family(model: str, config: ModelConfig) -> str:
    """Return the provider of a name without a provider's prefix; behind a URL of one's own, everything speaks OpenAI's API."""
    if config.base_url or "/" in model:
        return "openai"
    return next((provider for start, provider in FAMILIES if model.startswith(start)), "openai")
