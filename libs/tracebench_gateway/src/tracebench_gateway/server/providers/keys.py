"""Which key a request is sent with."""

from __future__ import annotations

from collections.abc import Mapping

from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import ChatRequest
from tracebench_gateway.models import key_variable, model_config

NO_KEY = "none"
"""Sent to servers that ask for no key: client libraries insist on one."""


def provider_headers(
    llm: LLMConfig, request: ChatRequest, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers that the config adds."""
    config = model_config(variants.get(request.variant, llm), request.role, request.name)
    return {header: environ[name] for header, name in config.extra_headers.items() if name in environ}


def provider_key(
    llm: LLMConfig, request: ChatRequest, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]
) -> str | None:
    """Return the provider's key for a request; None leaves it to litellm to find one."""
    identity, llm = request.identity, variants.get(request.variant, llm)
    variable = key_variable(model_config(llm, request.role, request.name), identity)
    if variable is None:
        return environ.get("OPENAI_API_KEY", NO_KEY) if identity.base_url else None
    return environ.get(variable)
