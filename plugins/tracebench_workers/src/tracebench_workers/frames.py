"""Messages between a run and its workers: words in JSON, and a file that belongs to them, over one TLS connection.

A message begins with the sizes of its words and its file. The file comes in pieces, each with its own size and none for words; other
words may come between them.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tracebench_workers.options import bare
from tracebench_workers.ticket import Ticket, fingerprint, joining

_SIZES = struct.Struct("!IQ")
LONGEST_WORDS = 1 << 26
MOST_BYTES = 1 << 32
PIECE = 1 << 16
UNSENT = 1 << 17
"""Bytes that the kernel may hold unsent: on a slow link, more would be what words wait behind."""
LONGEST_HELLO = 1 << 16
"""Of whoever has not shown a token yet, and has no files to send."""
BEATS = 6
"""Signs of life in one lease."""
FENCE = 0.7
"""Part of its lease after which a worker that has no answer ends its jobs: before the run gives them to another."""
HELLO_SECONDS = 20.0
"""How long either side of a new connection may take to say who it is."""
Message = tuple[dict[str, Any], bytes]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotTheRunError(Exception):
    """Whoever answers at the address is not the run of the ticket."""


def send(writer: asyncio.StreamWriter, words: dict[str, Any]) -> None:
    """Send words; they go out as the connection takes them."""
    told = json.dumps(words).encode()
    writer.write(_SIZES.pack(len(told), 0) + told)


class Post:
    """The outgoing side of a connection: words do not wait behind a file, they go out before its next piece."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Take over a connection's writer, in the thread of its loop."""
        self._writer = writer
        self._waiting: deque[Message] = deque()
        self._carrying: asyncio.Task[None] | None = None
        writer.transport.set_write_buffer_limits(high=PIECE)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)

    def send(self, words: dict[str, Any], body: bytes = b"", *, in_turn: bool = False) -> None:
        """Send words, and a file that belongs to them. `in_turn`: not before the files that wait."""
        if not body and not (in_turn and self._waiting):
            send(self._writer, words)
            return
        self._waiting.append((words, body))
        if self._carrying is None or self._carrying.done():
            self._carrying = asyncio.get_running_loop().create_task(self._carry())

    async def flush(self) -> None:
        """Return when all of it has gone out, or cannot."""
        if self._carrying is not None:
            await self._carrying
        with suppress(OSError):
            await self._writer.drain()

    def close(self) -> None:
        """Send nothing more."""
        self._waiting.clear()
        if self._carrying is not None:
            self._carrying.cancel()
        self._writer.close()

    async def _carry(self) -> None:
        with suppress(OSError):  # whoever reads of the connection sees it, too
            while self._waiting:
                words, body = self._waiting[0]
                told = json.dumps(words).encode()
                self._writer.write(_SIZES.pack(len(told), len(body)) + told)
                for at in range(0, len(body), PIECE):
                    piece = body[at : at + PIECE]
                    self._writer.write(_SIZES.pack(0, len(piece)) + piece)
                    await self._writer.drain()
                self._waiting.popleft()


class Ear:
    """The incoming side of a connection: messages as they are whole, words that came between the pieces of a file before it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        *,
        longest: int = LONGEST_WORDS,
        most: int = MOST_BYTES,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        """`longest` and `most` are the bytes that words and files may have; `heard` is called for each piece of a file."""
        self._reader = reader
        self._longest, self._most, self._heard = longest, most, heard
        self._words: dict[str, Any] | None = None
        self._size = 0
        self._body = bytearray()

    async def hear(self) -> Message | None:
        """Return the next message; None when the connection has ended, or holds what is no message, or a larger one."""
        try:
            while True:
                words, size = _SIZES.unpack(await self._reader.readexactly(_SIZES.size))
                if words == 0:
                    if not await self._take_piece(size):
                        return None
                    if len(self._body) == self._size:
                        return self._whole()
                    continue
                if words > self._longest or size > self._most or (size and self._words is not None):
                    return None
                told = json.loads(await self._reader.readexactly(words))
                if not isinstance(told, dict):
                    return None
                if size == 0:
                    return told, b""
                self._words, self._size = told, size
        except (asyncio.IncompleteReadError, OSError, ValueError, RecursionError):
            return None

    async def _take_piece(self, size: int) -> bool:
        if self._words is None or not 0 < size <= min(PIECE, self._size - len(self._body)):
            return False
        self._body += await self._reader.readexactly(size)
        self._heard()
        return True

    def _whole(self) -> Message:
        assert self._words is not None  # noqa: S101 - a piece was taken
        message = self._words, bytes(self._body)
        self._words, self._body = None, bytearray()
        return message


async def connect(ticket: Ticket) -> Streams:
    """Open a connection to a run.

    Raises:
        OSError: when nobody answers.
        NotTheRunError: when it is somebody else who does; nothing was said to them.
    """
    opening = asyncio.open_connection(bare(ticket.host), ticket.port, ssl=joining())
    reader, writer = await asyncio.wait_for(opening, HELLO_SECONDS)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    if fingerprint(certificate or b"") != ticket.fingerprint:
        writer.close()
        raise NotTheRunError
    return reader, writer


async def pump(one: Streams, other: Streams) -> None:
    """Carry bytes both ways until either side ends."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    await asyncio.gather(carry(one[0], other[1]), carry(other[0], one[1]))
