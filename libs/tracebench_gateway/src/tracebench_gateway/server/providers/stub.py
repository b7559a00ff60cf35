"""The stub model as a provider: no network, no waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracebench_core.contracts import StubFormat
from tracebench_core.ids import content_hash
from tracebench_core.specs import Role
from tracebench_gateway.exchange import ChatRequest, OnDelta, ProviderError, Reply, limit_of
from tracebench_gateway.server.metering.meter import CHARACTERS_PER_TOKEN, text_of
from tracebench_gateway.server.providers.pieces import send_in_pieces
from tracebench_gateway.stub.model import Ladder, StubMode, answer

VECTOR_SIZE = 64


class StubProvider:
    """Answers by seed. Its tokens are estimates, and marked so."""

    def __init__(
        self,
        mode: StubMode,
        formats: Sequence[tuple[Role, StubFormat]] = (),
        ladders: Mapping[str, Callable[[], Ladder]] | None = None,
    ) -> None:
        """`ladders`: by name, how the answers that a task ships are loaded, once and at first use."""
        self._mode = mode
        self._formats = formats
        self._ladders = dict(ladders or {})
        self._loaded: dict[str, Ladder] = {}

    async def ask(self, request: ChatRequest, *, on_delta: OnDelta | None = None) -> Reply:
        """Return the stub's answer.

        Raises:
            ProviderError: a plugin's format, or its function of answers, failed.
        """
        if request.kind == "embedding":
            size = request.sampling.get("dimensions", VECTOR_SIZE)
            vectors = [_vector(text_of(m) or str(m.get("tokens")), size) for m in request.messages]
            return Reply(message={"embeddings": vectors}, finish_reason="stop")
        try:
            ladder = self._ladder(request.hints.get("answers"))
            said = answer(request, mode=self._mode, formats=self._formats, ladder=ladder)
        except Exception as err:
            raise ProviderError(f"the stub cannot answer: {type(err).__name__}: {err}", kind="request") from err
        text, whole = _cut(said, request.sent())
        message = {"role": "assistant", "content": text}
        if on_delta is not None:
            await send_in_pieces(message, on_delta)
        return Reply(message=message, finish_reason="stop" if whole else "length")

    def _ladder(self, name: str | None) -> Ladder:
        if name is None or name not in self._ladders:
            return ()
        if name not in self._loaded:
            self._loaded[name] = self._ladders[name]()
        return self._loaded[name]


def _cut(text: str, sent: Mapping[str, Any]) -> tuple[str, bool]:
    """Return as much of an answer as its limit of tokens allows, and whether that is all."""
    limit = limit_of(sent)
    most = len(text) if limit is None else limit * CHARACTERS_PER_TOKEN
    return text[:most], len(text) <= most


def _vector(text: str, size: int) -> list[float]:
    """Return a unit vector that counts hashed words, so that texts with words in common are near each other."""
    counts = [0.0] * size
    for word in text.lower().split() or [""]:
        counts[int(content_hash(word.encode())[:12], 16) % size] += 1.0
    length = math.hypot(*counts)
    return [count / length for count in counts]
