"""Large bodies: bounded in sum, and read one after another by a process of their own, so that no other caller waits for them.

A thread would not do: it holds the interpreter's lock while it parses.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tracebench_core.specs import LLMConfig
from tracebench_gateway.server.metering.weight import serialise_messages
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.server.requests.caching import with_marks
from tracebench_gateway.server.requests.reading import LARGEST_BODY, BadRequest, parse_object
from tracebench_gateway.tokens import Claims
from tracebench_gateway.turns import Place

SMALL = 128 * 1024
"""Bytes; what is no larger is read at once, in a millisecond or two."""
MOST_OF_JOB, MOST_OF_ALL = 48 * 1024 * 1024, 96 * 1024 * 1024
"""Bytes of large bodies under way, from the first of them to their answer; the next waits, unread."""
WAIT_SECONDS = 60.0
MOST_VALUES, MOST_OBJECTS = 500_000, 50_000
"""What may stand in a large body, and how much of it may be objects and lists: handing these over takes the gateway's time."""
PATIENCE = 10
"""How much the process that reads gives way to the gateway, which answers everybody."""
MEMORY = 2 << 30
"""Bytes of address space of the process that reads."""
FRAME = struct.Struct("<QQ")
STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""Texts, the last of which may have no end: no byte is looked at twice, or a hostile body would take hours."""
TOO_LARGE = "the request is too large to be read"
STEP = 1 << 18
"""Bytes that are handed over at a time."""


@dataclass(slots=True)
class Hold:
    """The room that a body takes until its request is answered."""

    room: Room
    job: str
    size: int

    def release(self) -> None:
        """Give the room back. Idempotent."""
        self.room.give_back(self.job, self.size)
        self.size = 0


class Room:
    """How much of large bodies is under way, by job."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._freed = asyncio.Condition()

    async def take(self, job: str, size: int) -> Hold:
        """Wait until there is room.

        Raises:
            BadRequest: with the status 503, after a minute.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS), self._freed:
                await self._freed.wait_for(lambda: self._has_room(job, size))
                self._taken[job] += size
        except TimeoutError:
            is_own = self._taken[job] + size > MOST_OF_JOB
            whose, most = ("this job", MOST_OF_JOB) if is_own else ("all jobs", MOST_OF_ALL)
            words = f"there was no room for it in {WAIT_SECONDS:g} s: large requests of {whose} may hold {most >> 20} MiB together"
            raise BadRequest(words, status=503) from None
        return Hold(self, job, size)

    def give_back(self, job: str, size: int) -> None:
        """Make room again."""
        if not size:
            return
        self._taken[job] -= size
        self._taken += Counter()  # without jobs that have nothing left
        waking = asyncio.ensure_future(self._wake())
        waking.add_done_callback(lambda done: done.exception())

    async def _wake(self) -> None:
        async with self._freed:
            self._freed.notify_all()

    def _has_room(self, job: str, size: int) -> bool:
        return self._taken[job] + size <= MOST_OF_JOB and self._taken.total() + size <= MOST_OF_ALL


class Wanted(NamedTuple):
    """What a body is read for."""

    wire: Any
    claims: Claims
    llm: LLMConfig
    place: Place | None
    address: Mapping[str, str]
    """Fields that the address tells, as Gemini's tells the model; a body tells them no more."""
    asker: str = ""
    """The evaluation that asks, where the engine tells."""
    key: str = ""
    """What the request is known by when it is asked again."""


Counting = Callable[[dict[str, Any]], int]


def understand(wanted: Wanted, data: dict[str, Any]) -> Asked:
    """Return what a request asks for.

    Raises:
        BadRequest: naming the field.
    """
    asked: Asked = wanted.wire.read({**data, **wanted.address}, claims=wanted.claims, llm=wanted.llm)
    return replace(
        with_marks(asked, claims=wanted.claims, llm=wanted.llm), place=wanted.place, asker=wanted.asker, key=wanted.key
    )


class Reader:
    """The process that reads large bodies; started by the first."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """`secrets`: names of variables that it is not given."""
        self._hidden = frozenset(secrets)
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def read(self, wanted: Wanted, pieces: list[bytes]) -> Asked:
        """Return what a body asks for; its pieces are dropped as they are handed over.

        Raises:
            BadRequest: as `understand` and `parse_object` do.
        """
        asked: Asked = await self._told(wanted, pieces)
        return asked

    async def count(self, counting: Counting, pieces: list[bytes]) -> int:
        """Return what a function of a module counts in a body.

        Raises:
            BadRequest: as it and `parse_object` do.
        """
        counted: int = await self._told(counting, pieces)
        return counted

    async def _told(self, wanted: Wanted | Counting, pieces: list[bytes]) -> Any:
        async with self._turn:
            try:
                outcome = await self._exchange(pickle.dumps(wanted), pieces)
            except (OSError, EOFError, asyncio.IncompleteReadError) as err:
                self._end()
                raise BadRequest(TOO_LARGE, status=413) from err
            except asyncio.CancelledError:
                self._end()  # it would answer the next one with this one's
                raise
        if not isinstance(outcome, tuple):
            return outcome
        message, status = outcome
        raise BadRequest(message, status=status)

    async def _exchange(self, wanted: bytes, pieces: list[bytes]) -> Any:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await self._start()
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(FRAME.pack(len(wanted), sum(map(len, pieces))) + wanted)
        pieces.reverse()
        while pieces:
            process.stdin.write(pieces.pop())
            await process.stdin.drain()
        size, _ = FRAME.unpack(await process.stdout.readexactly(FRAME.size))
        answer = bytearray()
        while len(answer) < size:
            piece = await process.stdout.read(min(STEP, size - len(answer)))
            if not piece:
                raise EOFError
            answer += piece
        return pickle.loads(answer)  # noqa: S301 - our own process's words

    async def _start(self) -> asyncio.subprocess.Process:
        environ = {name: value for name, value in os.environ.items() if name not in self._hidden}
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            __name__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environ,
        )

    def _end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
        self._process = None


def read_large(wanted: Wanted | Counting, body: bytes) -> Asked | int | tuple[str, int]:
    """Return what a body asks for with all that costs time to tell of it, or a count, or why it is refused and with which status."""
    try:
        check_size(body)
        data = parse_object(body)
        if callable(wanted):
            return wanted(data)
        asked = understand(wanted, data)
    except BadRequest as error:
        return str(error), error.status
    except MemoryError:
        return TOO_LARGE, 413
    if asked.kind == "chat":
        asked = replace(asked, raw=tuple(map(serialise_messages, asked.conversations)))
    asked.weights  # noqa: B018 - kept with it
    asked.digests(wanted.claims.role)
    return asked


def check_size(body: bytes) -> None:
    """See that a body holds no more values than can be walked, before it is parsed.

    Raises:
        BadRequest: with the status 413.
    """
    bare = STRINGS.sub(b"", body)
    objects = bare.count(b"[") + bare.count(b"{")
    if objects > MOST_OBJECTS:
        raise BadRequest(f"the request holds more than {MOST_OBJECTS:,} objects and lists", status=413)
    if objects + bare.count(b",") > MOST_VALUES:
        raise BadRequest(f"the request holds more than {MOST_VALUES:,} values", status=413)


def declared_size(headers: Mapping[str, str]) -> int:
    """Return how large a body says that it is; one in chunks may be as large as any."""
    declared = headers.get("content-length", "")
    return min(int(declared), LARGEST_BODY) if declared.isascii() and declared.isdigit() else LARGEST_BODY


def main() -> None:
    """Read bodies until the input ends."""
    import resource  # noqa: PLC0415 - of this process alone

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.nice(PATIENCE)
    given, told = sys.stdin.buffer, sys.stdout.buffer
    while head := given.read(FRAME.size):
        first, second = FRAME.unpack(head)
        wanted = pickle.loads(given.read(first))  # noqa: S301 - the gateway's words
        answer = pickle.dumps(read_large(wanted, given.read(second)), protocol=pickle.HIGHEST_PROTOCOL)
        told.write(FRAME.pack(len(answer), 0))
        told.write(answer)
        told.flush()
        del answer, wanted


if __name__ == "__main__":
    main()
