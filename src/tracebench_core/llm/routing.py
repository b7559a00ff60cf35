"""Who asks a model: the gateway itself, where a server speaks OpenAI's API, or litellm, an extra of this package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from tracebench_core.llm.models import PREFIXES, every_model, resolve_models
from tracebench_core.specs import LLMConfig, Mode, ModelIdentity

SPEAKING = frozenset({"openai", "openrouter", "hosted_vllm", "vllm", "lm_studio", "llamafile", "ollama", "ollama_chat"})
"""Providers whose address, where it ends in `/v1`, is OpenAI's API and nothing more; so is that of a provider that a plugin offers."""
OPENROUTER = "https://openrouter.ai/api/v1"
OPENAI_HOST = "api.openai.com"
"""Left to litellm, which knows how parameters are called for each of its models."""
INSTALL = 'pip install "tracebench-core[litellm]"'


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


def lacks_litellm(llm: LLMConfig, *, mode: Mode, environ: Mapping[str, str]) -> str | None:
    """Return the first provider that real mode asks through litellm while litellm is not installed, or None.

    The address of a provider that a plugin offers is told later; it is asked directly.
    """
    if mode != "real" or find_spec("litellm") is not None:
        return None
    asked = [identity for _, _, identity in every_model(resolve_models(llm, mode=mode, environ=environ))]
    return next((m.provider for m in asked if m.provider in PREFIXES and direct_address(m) is None), None)
