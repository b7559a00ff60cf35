"""The stub model as a provider: no network, no waiting."""

from __future__ import annotations

from tracebench_core.llm.exchange import ChatRequest, OnDelta, Reply
from tracebench_core.llm.gateway.providers.pieces import send_in_pieces
from tracebench_core.llm.stub.model import StubMode, answer


class StubProvider:
    """Answers by seed. Its tokens are estimates, and marked so."""

    def __init__(self, mode: StubMode) -> None:
        self._mode = mode

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the stub's answer."""
        message = {"role": "assistant", "content": answer(request, mode=self._mode)}
        if on_delta is not None:
            await send_in_pieces(message, on_delta)
        return Reply(message=message, finish_reason="stop")
