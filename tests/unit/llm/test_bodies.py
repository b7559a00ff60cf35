"""What a body may be: JSON that can be written down again, that comes in time; and what whoever sends another is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.requests import Request

from tracebench_gateway.server.requests import reading


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": NaN}', "the request is not JSON: `NaN` is no JSON number"),
        (b'{"a": -Infinity}', "the request is not JSON: `-Infinity` is no JSON number"),
        (b'{"a": 9223372036854775809}', "`9223372036854775809…` is too large a number"),
        (b'{"a": -9223372036854775809}', "`-9223372036854775809…` is too large a number"),
        (b'{"a": %b}' % (b"1" * 9_999), f"`{'1' * 24}…` is too large a number"),
        (b'{"a": 1e999}', "the request holds a number beyond any float"),
        (b'{"e": %b.0}' % (b"9" * 400), "the request holds a number beyond any float"),
        (b'{"a": "\\ud83d"}', "the request holds half a character (`\\ud83d`)"),
        (b'{"\\udc00": 1}', "the request holds half a character (`\\udc00`)"),
        (b"[]", "the request must be a JSON object"),
        (b"", "the request is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"\xff", "the request is not JSON: "),
        (b'{"a": %b%b}' % (b"[" * 100, b"]" * 100), "the request is nested deeper than 100"),
        (b'{"a": %b' % (b"[" * 100_000), "the request is nested deeper than 100"),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_passed_on_is_refused_in_words_that_are_said_once(body: bytes, words: str) -> None:
    with pytest.raises(reading.BadRequest) as refusal:
        reading.parse_object(body)
    assert str(refusal.value).startswith(words)
    assert str(refusal.value).count("the request") <= 1
    assert refusal.value.status == 400


def test_a_body_at_its_edges_is_read() -> None:
    deep: Any = {}
    for _ in range(98):
        deep = [deep]
    given = {"a": 1 << 63, "b": -(1 << 63), "c": 1e308, "d": "\U0001f600", "deep": deep}
    assert reading.parse_object(json.dumps(given).encode()) == given


def asked_in_pieces(pieces: list[bytes], *, is_whole: bool = False) -> Any:
    """Return a request whose body comes in these pieces, and then no more, or never ends."""
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left) or not is_whole}
        return await asyncio.Event().wait() or {}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BODY_SECONDS", 0.01)
    with pytest.raises(reading.BadRequest, match=r"^the request did not arrive within 0\.01 s$") as refusal:
        asyncio.run(reading.read_body(asked_in_pieces([b"{"])))
    assert refusal.value.status == 408


def test_a_caller_does_not_answer_for_the_time_in_which_we_had_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BODY_SECONDS", 0.1)

    async def wait(size: int) -> None:
        await asyncio.sleep(0.15)

    read = asyncio.run(reading.read_body(asked_in_pieces([b"{", b"}"], is_whole=True), wait))
    assert b"".join(read) == b"{}"


def test_a_caller_who_hangs_up_in_its_body_is_told_so() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(reading.BadRequest, match="the caller hung up before the request was whole"):
        asyncio.run(reading.read_body(request))
