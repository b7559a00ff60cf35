"""Real models: servers that speak OpenAI's API are asked directly, all others through litellm."""

from __future__ import annotations

from collections.abc import Mapping

from tracebench_core.specs import LLMConfig
from tracebench_gateway.exchange import ChatRequest, OnDelta, Reply
from tracebench_gateway.routing import direct_address
from tracebench_gateway.server.providers.direct import DirectProvider
from tracebench_gateway.server.providers.litellm import LiteLLMProvider


class RealProvider:
    """Chooses by the model's identity, so roles may differ."""

    def __init__(self, llm: LLMConfig, *, variants: Mapping[str, LLMConfig], environ: Mapping[str, str]) -> None:
        self._direct = DirectProvider(llm, variants=variants, environ=environ)
        self._litellm = LiteLLMProvider(llm, variants=variants, environ=environ)

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the model's answer.

        Raises:
            ProviderError: with the kind of failure.
        """
        provider = self._litellm if direct_address(request.identity) is None else self._direct
        return await provider.ask(request, on_delta=on_delta)
