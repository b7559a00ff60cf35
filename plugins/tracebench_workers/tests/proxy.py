"""A road between workers and their run that can be cut, after so many bytes or at once, or swallow all that is sent for a while."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import NamedTuple


class Ambush(NamedTuple):
    """A cut that waits for a connection."""

    after: int
    """Bytes of it."""
    is_answer: bool
    """Whether they are counted in what comes back."""


class Proxy:
    """Carries connections from one port of the loopback to another, in a thread of its own."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._writers: set[asyncio.StreamWriter] = set()
        self._left: int | None = None
        self._ambush: Ambush | None = None
        self.ambushed = 0
        """Connections that were cut because they were new."""
        self._is_open = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port: int = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(30)

    def cut(self, after: int = 0) -> None:
        """End every connection, once so many bytes more have passed."""
        self._loop.call_soon_threadsafe(self._cut, after)

    def cut_the_next(self, after: int, *, is_answer: bool = False) -> None:
        """End the first connection that is opened from now on of which so many bytes pass, asked or answered, and no other."""
        self._loop.call_soon_threadsafe(setattr, self, "_ambush", Ambush(after, is_answer))

    def spare(self) -> None:
        """Wait for no connection to cut any more."""
        self._loop.call_soon_threadsafe(setattr, self, "_ambush", None)

    def swallow(self, seconds: float) -> None:
        """Carry nothing for so long, with no connection ended."""

        def now() -> None:
            self._is_open.clear()
            self._loop.call_later(seconds, self._is_open.set)

        self._loop.call_soon_threadsafe(now)

    def close(self) -> None:
        """Carry nothing any more."""
        self._loop.call_soon_threadsafe(self._cut, 0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _cut(self, after: int) -> None:
        if after:
            self._left = after
            return
        self._left = None
        for writer in [*self._writers]:
            writer.transport.abort()

    async def _serve(self) -> int:
        self._is_open.set()
        server = await asyncio.start_server(self._lead, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there[1]}
        met = self._ambush
        asked, answered = (met if met is not None and met.is_answer == way else None for way in (False, True))
        await asyncio.gather(self._carry(reader, there[1], asked), self._carry(there[0], writer, answered))
        self._writers -= {writer, there[1]}

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ambush: Ambush | None) -> None:
        most = ambush.after if ambush is not None else None
        with suppress(OSError):
            while data := await reader.read(1 << 12):
                await self._is_open.wait()
                if ambush is not self._ambush:  # another connection was cut, or none is to be any more
                    most = None
                if most is not None:
                    data, most = data[:most], most - len(data)
                if self._left is not None:
                    data, self._left = data[: self._left], self._left - len(data)
                writer.write(data)
                await writer.drain()
                if self._left is not None and self._left <= 0:
                    self._cut(0)
                if most is not None and most <= 0:
                    self.ambushed, self._ambush = self.ambushed + 1, None
                    break
        writer.transport.abort()
