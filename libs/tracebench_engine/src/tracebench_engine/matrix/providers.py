"""Providers of models that plugins offer: found by a config's prefix, served for a run, asked like any server of OpenAI's API."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_core.ids import did_you_mean, nearest
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.plugins.installing import install_hint
from tracebench_core.specs import JobSpec, LLMConfig, LLMVariant, ModelConfig, ModelIdentity, ProviderSpec, RunConfig
from tracebench_engine.measure.requirements import refuse_unmet
from tracebench_gateway.models import FAMILIES, PREFIXES, every_model, resolve_models
from tracebench_gateway.needs import OTHERWISE
from tracebench_gateway.variants import llm_configs, name_of

M = TypeVar("M", bound=ModelConfig)
V = TypeVar("V", LLMConfig, LLMVariant)


def settle_providers(config: RunConfig, host: PluginHost) -> RunConfig:
    """Return the config with models of plugins' providers written out: provider, the key's variable, and prices. Idempotent."""
    if config.mode != "real":
        return config
    llm = _with_roles(config.llm, host)
    config = config.model_copy(
        update={"llm": llm, "llm_variants": tuple(_with_roles(v, host, name=name_of(v)) for v in config.llm_variants)}
    )
    prices = dict(llm.prices)
    resolved = [resolve_models(one, mode=config.mode, environ=os.environ) for one in llm_configs(config).values()]
    for identity, spec in served((model for r in resolved for _, _, model in every_model(r)), host).items():
        price = spec.prices.get(identity.model) or spec.prices.get("*")
        if price is not None and identity.model not in prices:
            prices.setdefault(f"{identity.provider}/{identity.model}", price)
    return config.model_copy(update={"llm": llm.model_copy(update={"prices": prices})})


def _with_roles(config: V, host: PluginHost, **more: str) -> V:
    """Return a config with the models of its roles written out, too."""
    roles = {
        role: _settled(own, host).model_copy(update={"models": {n: _settled(m, host) for n, m in own.models.items()}})
        for role, own in config.roles.items()
    }
    return _settled(config, host).model_copy(update={"roles": roles, **more})


def served(identities: Iterable[ModelIdentity], host: PluginHost) -> dict[ModelIdentity, ProviderSpec]:
    """Return the models that a plugin serves: of no known provider, and without an address."""
    open_ones = dict.fromkeys(i for i in identities if i.provider not in PREFIXES and i.base_url is None)
    return {i: spec for i in open_ones if (spec := find_provider(host, i.provider)) is not None}


OWN_NAMES = frozenset({"openai"}.union(provider for _, provider in FAMILIES))
"""Providers of models that bear no provider's name; routers' do, their own included."""


def refuse_unknown(config: RunConfig, host: PluginHost) -> None:
    """See that every model's provider is one that litellm knows, one that a plugin offers, or a server at an address.

    Raises:
        ConfigError: naming the nearest provider.
    """
    if config.mode != "real":
        return
    offered = host.catalog().components["provider"]
    for llm in llm_configs(config).values():
        for role, _, identity in every_model(resolve_models(llm, mode="real", environ=os.environ)):
            if (
                identity.provider in OWN_NAMES
                and identity.base_url is None
                and identity.model.startswith(f"{identity.provider}/")
            ):
                words = f"`{identity.provider}/{identity.model}` (role `{role}`) names its provider twice."
                raise ConfigError(words, hint=f"model: {identity.model}")
            if identity.provider in PREFIXES or identity.provider in offered or identity.base_url is not None:
                continue
            near = OTHERWISE.get(identity.provider)
            lacking = "" if near or identity.provider in host.records else install_hint(identity.provider)
            if lacking.startswith("pip"):
                words = f"The provider `{identity.provider}` comes with a plugin that is not installed."
                raise ConfigError(words, hint=lacking)
            words = f" Did you mean `{near}`?" if near else did_you_mean(identity.provider, [*PREFIXES, *offered])
            raise ConfigError(
                f"`{identity.provider}` of `{identity.provider}/{identity.model}` (role `{role}`) is no provider that is known.{words}",
                hint="write a provider of litellm's or of a plugin before the model's name, or `base_url` beside it for a server that"
                " speaks OpenAI's API",
            )


def misspelt_providers(config: RunConfig, host: PluginHost) -> dict[str, str]:
    """Return each `provider` that nobody knows and that is much like a known one, with that one: beside an address any name is taken."""
    known = [*PREFIXES, *host.catalog().components["provider"]]
    written: list[ModelConfig] = []
    every: list[LLMConfig | LLMVariant] = [config.llm, *config.llm_variants]
    for llm in every:
        written += [llm, *llm.roles.values(), *(model for role in llm.roles.values() for model in role.models.values())]
    names = dict.fromkeys(model.provider for model in written if model.provider is not None)
    return {name: near for name in names if name not in known and (near := OTHERWISE.get(name) or nearest(name, known))}


def find_provider(host: PluginHost, name: str) -> ProviderSpec | None:
    """Return the provider of a name, when a plugin offers it."""
    spec = host.catalog().components["provider"].get(name)
    return spec if isinstance(spec, ProviderSpec) else None


def base_url(identity: ModelIdentity, spec: ProviderSpec, environments: str | None) -> str:
    """Open what serves a model, and return the address it is asked at.

    Args:
        environments: where the process that holds the run's environments listens; needed by a provider with an environment.

    Raises:
        MissingRequirementError: when it cannot be served here.
    """
    refuse_unmet(spec.name, spec)
    handle: Any = None
    if spec.environment is not None:
        from tracebench_engine.measure.environments.client import RemoteLease  # noqa: PLC0415 - few runs have one

        request = {"name": spec.environment, "options": {"model": identity.model}, "job": None, "seed": 0}
        try:
            lease = RemoteLease(environments or "", request)
        except NotMeasured as err:
            raise MissingRequirementError(
                f"Model `{spec.name}/{identity.model}` cannot be served: {err}.",
                hint="trace-bench doctor --config FILE",
            ) from err
        handle = lease.handle
        lease.release()
    url: str = load_ref(spec.loader, owner=spec.name)(identity.model, handle)
    return url


def addressed(identity: ModelIdentity, urls: Mapping[ModelIdentity, str]) -> ModelIdentity:
    """Return a role's models with the addresses at which the run serves them."""
    own = identity.model_copy(update={"others": ()})
    others = tuple((name, addressed(other, urls)) for name, other in identity.others)
    return identity.model_copy(update={"base_url": urls.get(own, identity.base_url), "others": others})


def told(job: JobSpec, specs: Iterable[ProviderSpec]) -> dict[str, Any]:
    """Return what a header says of a job, and to which providers."""
    words = {"job": job.job_id, "seed": job.seed, "task": job.task_id, "options": job.eval_kwargs}
    return {"job": json.dumps(words), "told": names} if (names := [s.name for s in specs if s.told_job]) else {}


def _settled(config: M, host: PluginHost) -> M:
    prefix, slash, rest = (config.model or "").partition("/")
    name = config.provider or (prefix if slash else None)
    if name is None or name in PREFIXES or config.base_url:
        return config
    spec = find_provider(host, name)
    if spec is None:
        return config
    model = rest if slash and prefix == name else config.model
    return config.model_copy(
        update={"provider": name, "model": model, "api_key_env": config.api_key_env or spec.api_key_env}
    )
