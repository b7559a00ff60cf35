"""Large bodies are read apart, bounded in what they hold and in sum; nobody waits for those of another job."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.llm.conftest import Door, Open, say

from tracebench_gateway.server.requests.large import MOST_OBJECTS, MOST_OF_JOB, SMALL, BadRequest, Room
from tracebench_testing.fake_openai import FakeOpenAI

MIB = 1 << 20


def send(door: Door, body: bytes) -> tuple[int, dict[str, Any]]:
    """Send a chat request; returns the status and the answer."""
    key = door.client.endpoint("agent").api_key.get_secret_value()
    status, text = door.client._exchange("POST", "/v1/chat/completions", {"x-api-key": key}, body)
    return status, json.loads(text)


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        (b"[]," * (MOST_OBJECTS + 1), 413, "objects and lists"),
        (b"1," * 600_000, 413, "values"),
        (b"[" * 30_000 + b"]" * 30_000 + b"," + b'"x",' * 50_000, 400, "nested deeper"),
        (b'"[[[,,,\\"{{",' * 40_000, 400, "`stop` must be a text"),
    ],
)
def test_what_a_large_body_may_hold_is_bounded_before_it_is_parsed(
    open_door: Open, values: bytes, status: int, words: str
) -> None:
    body = b'{"messages": [{"role": "user", "content": "x"}], "stop": [' + values + b"[]]}"
    assert len(body) > SMALL
    told, answer = send(open_door(stub="empty"), body)
    assert told == status
    assert words in answer["error"]["message"]


def test_a_large_request_reaches_a_server_as_it_was_sent(open_door: Open) -> None:
    text = "lorem ipsum é 😀 \n" * 30_000
    with FakeOpenAI(reply=lambda messages: "yes") as server:
        door = open_door(mode="real", base_url=server.base_url, record=True)
        status, answer = send(door, json.dumps({"messages": say(text), "temperature": 0.5}).encode())
        again, _ = send(door, b"{" + b" " * (2 * SMALL))
        (asked,) = server.log.requests
    assert (status, again) == (200, 400)
    assert asked == {"model": "fake", "temperature": 0.5, "messages": say(text)}
    assert answer["choices"][0]["message"]["content"] == "yes"


def test_the_bodies_of_a_job_are_bounded_in_sum_and_those_of_another_are_not_kept_waiting() -> None:
    async def main() -> None:
        room = Room()
        first = await room.take("job", 31 * MIB)
        waiting = asyncio.ensure_future(room.take("job", 31 * MIB))
        other = await asyncio.wait_for(room.take("other", 31 * MIB), 5)
        await asyncio.sleep(0.01)
        assert not waiting.done()
        first.release()
        first.release()
        second = await asyncio.wait_for(waiting, 5)
        assert second.size == 31 * MIB <= MOST_OF_JOB
        third = asyncio.ensure_future(room.take("third", 48 * MIB))
        await asyncio.sleep(0.01)
        assert not third.done()  # all jobs together have a bound, too
        other.release()
        (await asyncio.wait_for(third, 5)).release()

    asyncio.run(main())


def test_whoever_waits_too_long_for_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracebench_gateway.server.requests.large.WAIT_SECONDS", 0.01)

    async def main() -> None:
        room = Room()
        await room.take("job", MOST_OF_JOB)
        with pytest.raises(BadRequest) as refusal:
            await room.take("job", 1)
        assert refusal.value.status == 503

    asyncio.run(main())
