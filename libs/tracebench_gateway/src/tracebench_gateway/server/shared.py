"""Calls under way that somebody else may ask as well: each is made once, and everybody who asks is given its answer, or its pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tracebench_gateway.exchange import Metered, OnDelta, Reply
from tracebench_gateway.server.providers.pieces import send_in_pieces

Key = tuple[str, str, int]
"""Job, digest of the request, and its occurrence."""
Answered = tuple[Reply, Metered]
Making = Callable[[OnDelta | None], Coroutine[Any, Any, Answered]]
"""Makes the call; what is given is called with each piece, and with None the answer comes whole."""


class SharedCalls:
    """The calls of scorings: one goes on when its caller goes away, as whoever scores in that one's place asks the same."""

    def __init__(self) -> None:
        self._calls: dict[Key, _Call] = {}

    async def join(
        self, key: Key, make: Making, *, on_delta: OnDelta | None, track: Callable[[asyncio.Future[Any]], None]
    ) -> Answered:
        """Make a call, or join the one that is under way, and await its answer; `track` is told the task of one that is made.

        Raises:
            ProviderError: as the call does.
            Refused: as the call does.
        """
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(make, is_streamed=on_delta is not None)
            track(call.task)
            call.task.add_done_callback(lambda done: self._end(key, done))
        return await call.follow(on_delta)

    def _end(self, key: Key, task: asyncio.Task[Answered]) -> None:
        self._calls.pop(key, None)
        if not task.cancelled():
            task.exception()  # that nobody waits for it any more is no mistake


class _Call:
    """One call, with the pieces that came of it so far."""

    def __init__(self, make: Making, *, is_streamed: bool) -> None:
        self._pieces: list[dict[str, Any]] = []
        self._listeners: list[OnDelta] = []
        self.task = asyncio.create_task(make(self._take if is_streamed else None))

    async def _take(self, piece: dict[str, Any]) -> None:
        self._pieces.append(piece)
        for listener in [*self._listeners]:
            await listener(piece)

    async def follow(self, on_delta: OnDelta | None) -> Answered:
        """Await the answer; a streaming caller is told first what was said before it came, and one of a whole call all of it at its end."""
        if on_delta is None:
            return await asyncio.shield(self.task)
        for piece in self._pieces:  # and those that come meanwhile
            await on_delta(piece)
        self._listeners.append(on_delta)
        try:
            answered = await asyncio.shield(self.task)
        finally:
            self._listeners.remove(on_delta)
        if not self._pieces:
            await send_in_pieces(answered[0].message, on_delta)
        return answered
