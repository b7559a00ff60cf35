"""Frames on a stream socket: blocking on the candidate's side, under a deadline and a cap on the trusted side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tracebench_sandbox import flat
from tracebench_sandbox.codec import HEADER, CodecError, Decoder

_read, _write = os.read, os.write
_CHUNK = 1 << 18
_FEW = 1 << 14
"""Bytes that are asked for where few are expected: to make room for more takes longer than to read them."""
LATER = object()
"""Stands for a message that has not come whole."""
EMPTY = HEADER.pack(0, 0)
"""The frame that holds no message: a call of the session's own entry without arguments, and the answer of one that returns None."""
SLACK = 1 << 16
"""What a frame may hold beside the value: the error, the traceback, the printed text."""
NOT_STARTED = "the sandbox could not start a process"
TEMPLATE_ENDED = "the sandbox's template ended"
TEMPLATE_HELD = "the sandbox's template does not answer"
"""Three reasons in a report that say nothing of the candidate."""
UNSTARTED = {"code": None, "late": False, "cpu": None, "reason": NOT_STARTED}
"""The report of a request for which there was no process."""
SPENT = "its processor time is used up"
"""The reason in the report of who has had it."""


def read_frame(fd: int, *, decoder: Decoder) -> Any:
    """Block until one whole message has come and return it; None for the empty frame.

    Raises:
        EOFError: when the other side has closed.
    """
    head = _exactly(fd, HEADER.size)
    if head == EMPTY:
        return None
    size, blocks = HEADER.unpack(head)
    body = _exactly(fd, size + blocks)
    return decoder.unpack(body[:size], memoryview(body)[size:])


def _exactly(fd: int, size: int) -> bytes:
    data = _read(fd, min(size, _CHUNK)) if size else b""
    if len(data) == size:
        return data
    parts = [data]
    while data and (size := size - len(data)):
        data = _read(fd, min(size, _CHUNK))
        parts.append(data)
    if not data:
        raise EOFError
    return b"".join(parts)


def next_body(fd: int) -> bytes:
    """Block until one whole frame of a stream has come, of which no second is on its way, and return its body.

    Raises:
        EOFError: when the other side has closed.
    """
    data = _read(fd, _FEW)
    if len(data) < HEADER.size:
        data += _exactly(fd, HEADER.size - len(data))
    size, blocks = HEADER.unpack_from(data)
    left = HEADER.size + size + blocks - len(data)
    return (data + _exactly(fd, left) if left else data)[HEADER.size :]


def tell_unstarted(link: int) -> None:
    """Report on a request's link, from a process of it that has run nothing untrusted yet, that it cannot be made one that may."""
    with suppress(OSError):  # whoever asked has gone
        os.write(link, json.dumps(UNSTARTED).encode())


def write_frame(fd: int, frame: bytes) -> None:
    """Write a packed message whole, blocking."""
    done = _write(fd, frame)
    if done < len(frame):
        rest = memoryview(frame)[done:]
        while rest:
            rest = rest[_write(fd, rest) :]


class Inbox:
    """What has come from an untrusted process: bytes in, messages out, and never more than one oversized header believed."""

    def __init__(self, cap: int) -> None:
        self._cap = cap + SLACK
        self._bytes = bytearray()
        self._decoder = Decoder(plain=True)
        self._reader = flat.Reader(plain=True)

    def take(self, data: bytes) -> None:
        """Add what has come."""
        self._bytes += data

    def take_alone(self, data: bytes) -> Any:
        """Return the message that is all of what has come, None for an empty frame; else add to the rest and return LATER.

        Raises:
            CodecError: as `messages`.
        """
        if not self._bytes and len(data) >= HEADER.size:
            size, blocks = HEADER.unpack_from(data)
            if HEADER.size + size + blocks == len(data) and size + blocks <= self._cap:
                return self._message(data[HEADER.size :], size)
        self._bytes += data
        return LATER

    def messages(self) -> Iterator[Any]:
        """Yield the messages that are complete; None for an empty frame.

        Raises:
            CodecError: when the bytes are no message, or announce one above the cap.
        """
        while len(self._bytes) >= HEADER.size:
            size, blocks = HEADER.unpack_from(self._bytes)
            if size + blocks > self._cap:
                raise CodecError("is larger than allowed")
            end = HEADER.size + size + blocks
            if len(self._bytes) < end:
                return
            body = bytes(self._bytes[HEADER.size : end])
            del self._bytes[:end]
            yield self._message(body, size)

    def _message(self, body: bytes, size: int) -> Any:
        if not body:
            return None
        if body[0] == flat.BODY and size == len(body):
            return self._reader.answer(body)
        return self._decoder.unpack(body[:size], memoryview(body)[size:])


class Tail:
    """The last `size` bytes of a stream."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._bytes = bytearray()

    def take(self, data: bytes) -> None:
        """Add what has come."""
        self._bytes += data
        if len(self._bytes) > 2 * self._size:
            del self._bytes[: -self._size]

    @property
    def text(self) -> str:
        """What is kept, as text."""
        return bytes(self._bytes[-self._size :]).decode(errors="replace")
