"""Provider keys: which variable holds them, who may see them, and how their values are kept out of texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from tracebench_core.specs import LLMConfig, RoleConfig
from tracebench_gateway.needs import NEEDS, key_of

KEY_VARIABLES: dict[str, str] = {name: key for name in NEEDS if (key := key_of(name)) is not None}
"""By provider, the variable its key is conventionally kept in. A provider that is not here asks for no key of ours."""
_KEYS = frozenset(KEY_VARIABLES.values())

SECRET_SUFFIXES = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_ACCESS_KEY", "_SECRET_KEY", "_CLIENT_SECRET", "_AD_TOKEN")
SHORTEST_SECRET = 8
"""A shorter value is too common a string to be taken out of texts."""
MASK = "[redacted]"


_held: dict[str, str] = {}


def hold(secrets: Mapping[str, str]) -> None:
    """Keep keys that are not in this process's environment, for `provider_environ`."""
    _held.update(secrets)


def provider_environ() -> dict[str, str]:
    """Return the environment with the keys that this process holds apart from it."""
    return {**os.environ, **_held}


def is_secret(name: str, *llms: LLMConfig) -> bool:
    """Tell whether the variable `name` may hold a provider's key: by its suffix, or because a config names it."""
    configs = [config for llm in llms for config in (llm, *llm.roles.values())]
    configs += [model for config in configs if isinstance(config, RoleConfig) for model in config.models.values()]
    named = {config.api_key_env for config in configs} | {v for c in configs for v in c.extra_headers.values()}
    return name in named or name in _KEYS or name.upper().endswith(SECRET_SUFFIXES)


def secret_environ(environ: Mapping[str, str], *llms: LLMConfig) -> dict[str, str]:
    """Return the variables that only the gateway is given."""
    return {name: value for name, value in environ.items() if is_secret(name, *llms)}


def without_secrets(environ: Mapping[str, str], *llms: LLMConfig) -> dict[str, str]:
    """Return the environment for every process but the gateway: no key by name, and no copy of one by value."""
    values = {value for value in secret_environ(environ, *llms).values() if len(value) >= SHORTEST_SECRET}
    return {name: value for name, value in environ.items() if not is_secret(name, *llms) and value not in values}


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every secret value masked, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK)
    return text
