"""Messages between a run and its workers: a line of JSON, and bytes that belong to it, over one TLS connection."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable
from typing import Any

from tracebench_workers.ticket import Ticket, fingerprint, joining

_SIZES = struct.Struct("!IQ")
LONGEST_WORDS = 1 << 26
MOST_BYTES = 1 << 32
PIECE = 1 << 16
LONGEST_HELLO = 1 << 16
"""Of whoever has not shown a token yet, and has no files to send."""
BEATS = 6
"""Signs of life in one lease."""
HELLO_SECONDS = 20.0
"""How long either side of a new connection may take to say who it is."""
Message = tuple[dict[str, Any], bytes]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotTheRunError(Exception):
    """Whoever answers at the address is not the run of the ticket."""


def send(writer: asyncio.StreamWriter, words: dict[str, Any], body: bytes = b"") -> None:
    """Send a message; it goes out as the connection takes it."""
    told = json.dumps(words).encode()
    writer.write(_SIZES.pack(len(told), len(body)) + told)
    if body:
        writer.write(body)


async def receive(
    reader: asyncio.StreamReader,
    *,
    longest: int = LONGEST_WORDS,
    most: int = MOST_BYTES,
    heard: Callable[[], None] = lambda: None,
) -> Message | None:
    """Return the next message; None when the connection has ended, or holds what is no message, or a larger one.

    `longest` and `most` are the bytes that its words and its body may have; `heard` is called for each piece of its body.
    """
    try:
        words, body = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        if words > longest or body > most:
            return None
        told = json.loads(await reader.readexactly(words))
        return (told, await _read(reader, body, heard)) if isinstance(told, dict) else None
    except (asyncio.IncompleteReadError, OSError, ValueError, RecursionError):
        return None


async def _read(reader: asyncio.StreamReader, size: int, heard: Callable[[], None]) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = await reader.read(min(PIECE, size - len(data)))
        if not piece:
            raise asyncio.IncompleteReadError(b"", size)
        data += piece
        heard()
    return bytes(data)


async def connect(ticket: Ticket) -> Streams:
    """Open a connection to a run.

    Raises:
        OSError: when nobody answers.
        NotTheRunError: when it is somebody else who does; nothing was said to them.
    """
    opening = asyncio.open_connection(ticket.host, ticket.port, ssl=joining())
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
