"""What a config of promptfoo (https://www.promptfoo.dev/docs/configuration/reference) says, in ours: its models and how they are asked."""

from __future__ import annotations

from typing import Any

from tracebench_engine.config.problems import Loc
from tracebench_engine.config.secrets import secrets_in

Told = dict[Loc, tuple[str, bool]]
OF_MODELS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "top_p": "top_p",
    "seed": "seed",
    "apiBaseUrl": "base_url",
    "apiKeyEnvar": "api_key_env",
}
"""Settings of a provider there, and the fields of a model here."""
MODES = frozenset({"chat", "completion", "messages", "responses"})
MOST = 1000
"""Repetitions, and jobs at a time, that are taken over."""
OF_A_TASK = "belongs to a task, which is a program here: trace-bench init suite NAME"
GONE = "has no counterpart, and is left out."


def is_promptfoo(raw: dict[str, Any]) -> bool:
    """Tell whether a config is promptfoo's."""
    return "providers" in raw and bool(raw.keys() & {"prompts", "tests"})


def from_promptfoo(raw: dict[str, Any]) -> tuple[dict[str, Any], Told]:
    """Return what can be said of it in a config of ours, and what became of each field."""
    told: Told = {}
    variants: list[dict[str, Any]] = []
    providers = raw["providers"] if isinstance(raw["providers"], list) else [raw["providers"]]
    for i, provider in enumerate(providers):
        loc: Loc = ("providers", i) if isinstance(raw["providers"], list) else ("providers",)
        variants += _model(provider, loc, told)
    config: dict[str, Any] = {"tasks": [], "mode": "real", "llm_variants": variants}
    for name, value in raw.items():
        if name == "evaluateOptions" and isinstance(value, dict):
            _options(value, config, told)
        elif name in {"prompts", "tests", "defaultTest", "scenarios"}:
            told[name,] = (OF_A_TASK, True)
        elif name != "providers":
            told[name,] = (GONE, False)
    return config, told


def _model(provider: Any, loc: Loc, told: Told) -> list[dict[str, Any]]:
    """Return a provider as a model of ours; none when it is no model."""
    named = provider.get("id") if isinstance(provider, dict) else provider
    if named is None and isinstance(provider, dict) and len(provider) == 1:
        ((named, provider),) = provider.items()
    kind, colon, rest = str(named).partition(":")
    if not colon or kind in {"exec", "python", "file", "http", "https", "webhook"}:
        told[loc] = ("is a program or an address, no model; a trainer of your own may call it.", True)
        return []
    mode, _, name = rest.partition(":")
    model = {"model": f"{kind}/{name if mode in MODES and name else rest}"}
    settings = provider.get("config") if isinstance(provider, dict) else None
    lost, secret = [], []
    for field, value in settings.items() if isinstance(settings, dict) else ():
        if [*secrets_in({OF_MODELS.get(field, field): value})]:
            secret.append(f"`{field}`")
        elif field in OF_MODELS:
            model[OF_MODELS[field]] = value
        else:
            lost.append(f"`{field}`")
    words = f"is the model `{model['model']}` of `llm_variants` now."
    words += f" Without counterpart, and left out: {', '.join(lost)}." if lost else ""
    if secret:
        held = f"{', '.join(secret)} {'holds what looks' if len(secret) == 1 else 'hold what look'} like a secret"
        words += f" {held}: left out; export it as a variable, and name that one by `api_key_env`."
    told[loc] = (words, bool(secret))
    return [model]


def _options(options: dict[str, Any], config: dict[str, Any], told: Told) -> None:
    for name, value in options.items():
        if name == "maxConcurrency" and _counts(value):
            config["max_workers"] = value
            told["evaluateOptions", name] = ("is `max_workers` now.", False)
        elif name == "repeat" and _counts(value):
            config["seeds"] = [*range(1, value + 1)]
            told["evaluateOptions", name] = (f"is `seeds: 1..{value}` now.", False)
        elif name in {"maxConcurrency", "repeat"}:
            told["evaluateOptions", name] = (f"is left out: it is no number from 1 to {MOST:,}.", True)
        else:
            told["evaluateOptions", name] = (GONE, False)


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST
