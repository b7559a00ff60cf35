"""What a large body may hold and how much of them is under way, at the edge; what becomes of one that ends the process that reads it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.server.requests import large
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.server.requests.large import (
    MOST_OBJECTS,
    MOST_OF_ALL,
    MOST_OF_JOB,
    MOST_VALUES,
    Reader,
    Room,
    Wanted,
    check_size,
    declared_size,
    read_large,
)
from tracebench_gateway.server.requests.reading import LARGEST_BODY, BadRequest
from tracebench_gateway.server.wire.chat import ChatWire
from tracebench_gateway.server.wire.messages import count_prompt
from tracebench_gateway.tokens import Claims

CLAIMS = Claims(
    job_id="job", attempt="a", role="agent", phase="training", seed=1, budget=Budget(), model=ModelIdentity(provider="stub", model="stub")
)  # fmt: skip
WANTED = Wanted(ChatWire(), CLAIMS, LLMConfig(), None, {"model": "stub"}, asker="who", key="again")
HELLO = b'{"model": "other", "messages": [{"role": "user", "content": "hello"}]}'
OBJECTS, VALUES = (
    "the request holds more than 50,000 objects and lists",
    "the request holds more than 500,000 values",
)


def refusal(body: bytes) -> tuple[str, int] | None:
    try:
        check_size(body)
    except BadRequest as error:
        return str(error), error.status
    return None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * MOST_OBJECTS, None),
        (b"[" * (MOST_OBJECTS + 1), OBJECTS),
        (b"{[" * (MOST_OBJECTS // 2) + b"{", OBJECTS),
        (b"[" + b"," * (MOST_VALUES - 1), None),
        (b"[" + b"," * MOST_VALUES, VALUES),
        (b'"' + b"[{," * MOST_VALUES + b'"', None),
        (b'"' + b'\\"[,' * MOST_VALUES + b'"', None),
        (b'"\\\\"' + b"[" * (MOST_OBJECTS + 1), OBJECTS),
        (b'["a","\n"' + b",1" * MOST_VALUES, VALUES),
        (b'"' + b"[" * (MOST_OBJECTS + 1), None),
        (b"", None),
    ],
    ids=range(11),
)
def test_what_stands_in_texts_is_no_value(body: bytes, words: str | None) -> None:
    assert refusal(body) == (None if words is None else (words, 413))


@pytest.mark.parametrize("text", [b'"', b'\\"', b'"\\', b'\\\\"', b'x\\"y'])
def test_a_text_that_never_ends_is_looked_at_once(text: bytes) -> None:
    """A megabyte of quotes once took hours, in which no large request of any job was read."""
    assert refusal(b'{"messages": "' + text * (1_000_000 // len(text))) is None


def test_a_large_request_is_read_with_what_its_address_and_its_caller_tell() -> None:
    asked = read_large(WANTED, HELLO)
    assert isinstance(asked, Asked)
    assert (asked.model.name, asked.asker, asked.key, asked.place) == ("stub", "who", "again", None)
    assert asked.raw == (b'[{"role":"user","content":"hello"}]',)
    assert "weights" in vars(asked)
    assert len(asked._digests) == 1


@pytest.mark.parametrize(
    ("wanted", "body", "told"),
    [
        (WANTED, b"{", ("the request is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", 400)),
        (WANTED._replace(address={"model": "x"}), HELLO, ("the models of role `agent`: `stub`; not `x`", 404)),
        (WANTED, b"[" * (MOST_OBJECTS + 1), (OBJECTS, 413)),
        (count_prompt, b"[]", ("the request must be a JSON object", 400)),
        (count_prompt, b"[" * (MOST_OBJECTS + 1), (OBJECTS, 413)),
        (count_prompt, HELLO, 6),
    ],
)  # fmt: skip
def test_a_large_request_that_is_refused_is_told_why_and_how(wanted: Any, body: bytes, told: Any) -> None:
    assert read_large(wanted, body) == told


def test_a_request_that_memory_does_not_suffice_for_is_too_large() -> None:
    def count(data: dict[str, Any]) -> int:
        raise MemoryError

    assert read_large(count, b"{}") == ("the request is too large to be read", 413)


@pytest.mark.parametrize(
    ("told", "size"),
    [("0", 0), ("131073", 131_073), (str(LARGEST_BODY), LARGEST_BODY), (str(LARGEST_BODY + 1), LARGEST_BODY),
     ("", LARGEST_BODY), ("-1", LARGEST_BODY), ("\u0665", LARGEST_BODY), ("1e3", LARGEST_BODY)],
)  # fmt: skip
def test_a_body_is_as_large_as_it_says_or_as_any(told: str, size: int) -> None:
    assert declared_size({"content-length": told}) == size
    assert declared_size({}) == LARGEST_BODY


@pytest.mark.parametrize(
    ("held", "wanted", "words"),
    [
        ([("job", MOST_OF_JOB - 1)], 1, ""),
        ([("job", MOST_OF_JOB)], 1, "large requests of this job may hold 48 MiB together"),
        ([("a", MOST_OF_JOB), ("b", MOST_OF_JOB - 5)], 5, ""),
        ([("a", MOST_OF_JOB), ("b", MOST_OF_JOB - 5)], 6, "large requests of all jobs may hold 96 MiB together"),
    ],
)
def test_there_is_room_for_so_much_and_no_more_and_whose_bound_it_is_is_told(
    monkeypatch: pytest.MonkeyPatch, held: list[tuple[str, int]], wanted: int, words: str
) -> None:
    monkeypatch.setattr(large, "WAIT_SECONDS", 0.01)
    assert MOST_OF_ALL == 2 * MOST_OF_JOB

    async def take() -> str:
        room = Room()
        for job, size in held:
            room._taken[job] += size
        try:
            hold = await room.take("job", wanted)
        except BadRequest as error:
            return f"{error.status} {error}"
        hold.release()
        hold.release()
        await asyncio.sleep(0)
        assert room._taken.total() == sum(size for _, size in held)
        return ""

    told = asyncio.run(take())
    assert told == (words and f"503 there was no room for it in 0.01 s: {words}")


def test_a_body_that_ends_the_process_that_reads_is_too_large_and_the_next_is_read() -> None:
    async def read() -> tuple[str, int, int, int]:
        reader = Reader(secrets=["HOME"])
        with pytest.raises(BadRequest) as refusal:
            await reader.read(WANTED._replace(wire=os.abort), [b"{", b"}"])
        asked = await reader.read(WANTED, [HELLO[:9], HELLO[9:]])
        assert asked.conversations == [[{"role": "user", "content": "hello"}]]
        counted = await reader.count(count_prompt, [HELLO])
        with pytest.raises(BadRequest) as wrong:
            await reader.count(count_prompt, [b"[]"])
        process = reader._process
        assert process is not None
        assert await reader.count(count_prompt, [HELLO]) == counted
        assert reader._process is process
        reader._end()
        await process.wait()
        return str(refusal.value), refusal.value.status, counted, wrong.value.status

    assert asyncio.run(read()) == ("the request is too large to be read", 413, 6, 400)
