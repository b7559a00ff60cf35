"""Who asks a model: the gateway itself, where a server speaks OpenAI's API, or litellm, an extra of this package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import urlsplit

from tracebench_core.specs import LLMConfig, Mode, ModelIdentity
from tracebench_gateway.models import PREFIXES, every_model, resolve_models
from tracebench_runs.prices import bundled_map

SPEAKING = frozenset({"openai", "openrouter", "hosted_vllm", "vllm", "lm_studio", "llamafile", "ollama", "ollama_chat"})
"""Providers whose address, where it ends in `/v1`, is OpenAI's API and nothing more; so is that of a provider that a plugin offers."""
OPENROUTER = "https://openrouter.ai/api/v1"
OPENAI_HOST = "api.openai.com"
"""Left to litellm, which knows how parameters are called for each of its models."""
INSTALL = 'pip install "tracebench-engine[litellm]"'


def direct_address(identity: ModelIdentity) -> str | None:
    """Return the address at which a model is asked directly, or None where litellm must ask."""
    if identity.provider in PREFIXES and identity.provider not in SPEAKING:
        return None
    url = (identity.base_url or (OPENROUTER if identity.provider == "openrouter" else "")).rstrip("/")
    if url and lacks_path(url):
        url += "/v1"
    return url if url.endswith("/v1") and urlsplit(url).hostname != OPENAI_HOST else None


def lacks_path(url: str) -> bool:
    """Tell an address of a server alone: what speaks OpenAI's API does so at its `/v1`."""
    return not urlsplit(url).path.strip("/")


class Lacking(NamedTuple):
    """A package without which a provider cannot be asked."""

    provider: str
    words: str


def lacks_package(llm: LLMConfig, *, mode: Mode, environ: Mapping[str, str]) -> Lacking | None:
    """Return the first provider that real mode asks with a package that is not installed, or None; `INSTALL` brings them all.

    The address of a provider that a plugin offers is told later; it is asked directly.
    """
    if mode != "real":
        return None
    asked = [identity for _, _, identity in every_model(resolve_models(llm, mode=mode, environ=environ))]
    through_litellm = [m for m in asked if m.provider in PREFIXES and direct_address(m) is None]
    if through_litellm and find_spec("litellm") is None:
        provider = through_litellm[0].provider
        return Lacking(provider, f"Models of `{provider}` are asked through litellm, and it is not installed.")
    for model in through_litellm if find_spec("mcp") is None else ():
        if is_asked_for_responses(model):
            words = f"litellm asks `{model.model}` through the responses API with the package `mcp`, and it is not installed."
            return Lacking(model.provider, words)
    return None


def is_asked_for_responses(identity: ModelIdentity) -> bool:
    """Tell a model that litellm asks through OpenAI's responses API: so named, or known to have no other."""
    known = bundled_map()
    entry = known.get(f"{identity.provider}/{identity.model}") or known.get(identity.model) or {}
    return identity.model.startswith("responses/") or entry.get("mode") == "responses"
