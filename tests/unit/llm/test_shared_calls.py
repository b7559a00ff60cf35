"""Calls that are made once and given to everybody who asks, and those that are kept for the next one that asks the same."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.cassette.cache import CallCache, is_cacheable
from tracebench_gateway.exchange import ChatRequest, Metered, OnDelta, ProviderError, Reply, Tokens
from tracebench_gateway.server.shared import Answered, SharedCalls

KEY = ("job", "digest", 0)
ANSWER = (Reply({"role": "assistant", "content": "one two"}, "stop"), Metered(Tokens(1, 2), 0.5))


class Call:
    """A call that goes on when it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.made = 0
        self.go = asyncio.Event()
        self.tell: OnDelta | None = None
        self.error = error

    async def __call__(self, on_delta: OnDelta | None) -> Answered:
        """Be made."""
        self.made += 1
        self.tell = on_delta
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return ANSWER


def heard(pieces: list[str]) -> OnDelta:
    async def on_delta(delta: dict[str, Any]) -> None:
        pieces.append(delta.get("content", ""))

    return on_delta


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_call_answers_everybody_who_asks_while_it_is_under_way() -> None:
    async def ask() -> None:
        shared, call, tracked = SharedCalls(), Call(), list[asyncio.Future[Any]]()
        first = asyncio.create_task(shared.join(KEY, call, on_delta=None, track=tracked.append))
        await settle()
        second = asyncio.create_task(shared.join(KEY, call, on_delta=None, track=tracked.append))
        other = asyncio.create_task(shared.join(("job", "digest", 1), call, on_delta=None, track=tracked.append))
        await settle()
        assert (call.made, len(tracked), call.tell) == (2, 2, None)
        first.cancel()
        await settle()
        call.go.set()
        assert await second == await other == ANSWER
        assert first.cancelled()
        await settle()
        assert await shared.join(KEY, call, on_delta=None, track=tracked.append) == ANSWER
        assert call.made == 3, "what has ended is no longer shared"

    asyncio.run(ask())


def test_who_comes_late_is_told_first_what_was_said_before() -> None:
    async def ask() -> None:
        shared, call = SharedCalls(), Call()
        pieces: list[list[str]] = [[], []]

        def join(number: int) -> asyncio.Task[Answered]:
            asked = shared.join(KEY, call, on_delta=heard(pieces[number]), track=lambda _: None)
            return asyncio.create_task(asked)

        tasks = [join(0)]
        await settle()
        assert call.tell is not None
        await call.tell({"content": "a"})
        tasks.append(join(1))
        await settle()
        await call.tell({"content": "b"})
        assert pieces == [["a", "b"], ["a", "b"]]
        tasks[0].cancel()
        await settle()
        await call.tell({"content": "c"})
        call.go.set()
        assert await tasks[1] == ANSWER
        assert pieces == [["a", "b"], ["a", "b", "c"]]

    asyncio.run(ask())


def test_who_streams_what_another_asked_for_whole_is_told_all_of_it_at_its_end() -> None:
    async def ask() -> None:
        shared, call, pieces = SharedCalls(), Call(), list[str]()
        whole = asyncio.create_task(shared.join(KEY, call, on_delta=None, track=lambda _: None))
        await settle()
        streamed = asyncio.create_task(shared.join(KEY, call, on_delta=heard(pieces), track=lambda _: None))
        await settle()
        assert pieces == []
        call.go.set()
        assert await whole == await streamed == ANSWER
        assert "".join(pieces) == "one two"
        assert len(pieces) > 2

    asyncio.run(ask())


def test_what_fails_fails_for_everybody_and_the_next_one_makes_it_anew() -> None:
    async def ask() -> None:
        shared, call = SharedCalls(), Call(ProviderError("no", kind="server"))
        both = [asyncio.create_task(shared.join(KEY, call, on_delta=None, track=lambda _: None)) for _ in range(2)]
        await settle()
        call.go.set()
        for one in both:
            with pytest.raises(ProviderError, match="no"):
                await one
        await settle()
        with pytest.raises(ProviderError):
            await shared.join(KEY, call, on_delta=None, track=lambda _: None)
        assert call.made == 2

    asyncio.run(ask())


def test_a_call_that_is_cancelled_itself_is_made_anew() -> None:
    async def ask() -> None:
        shared, call, tracked = SharedCalls(), Call(), list[asyncio.Future[Any]]()
        one = asyncio.create_task(shared.join(KEY, call, on_delta=None, track=tracked.append))
        await settle()
        tracked[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        await settle()
        call.go.set()
        assert await shared.join(KEY, call, on_delta=None, track=tracked.append) == ANSWER

    asyncio.run(ask())


def request(*, base_url: str | None = None, digest: str = "d", **sampling: Any) -> ChatRequest:
    identity = ModelIdentity(provider="openai", model="m", base_url=base_url)
    return ChatRequest("j", 1, "optimizer", identity, [{"role": "user", "content": "x"}], sampling, digest)


def test_an_answer_at_temperature_0_is_kept_for_all_who_ask_the_same(tmp_path: Path) -> None:
    place = tmp_path / "deep/cache.sqlite"
    cache = CallCache(place)
    reply = Reply({"role": "assistant", "content": "é" * 999}, "length", reported=Tokens(1, 2))
    cache.put(request(temperature=0), reply)
    cache.put(request(temperature=0), Reply({"content": "another"}, "stop"))

    for one in (cache, CallCache(place)):
        assert one.get(request(temperature=0.0)) == Reply(reply.message, "length")
    assert cache.get(request(temperature=0, digest="e")) is None
    assert cache.get(request(temperature=0, base_url="http://h/v1")) is None
    cache.put(request(temperature=0, base_url="http://h/v1"), Reply({"content": "theirs"}, "stop"))
    kept = cache.get(request(temperature=0, base_url="http://h/v1"))
    assert kept is not None
    assert kept.message == {"content": "theirs"}
    rows = sqlite3.connect(place).execute("SELECT length(reply) FROM replies").fetchall()
    assert len(rows) == 2
    assert max(size for (size,) in rows) < 200, "kept small"


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.1}, {"temperature": None}, {"top_p": 0}])
def test_an_answer_that_chance_is_in_is_not_kept(tmp_path: Path, sampling: dict[str, Any]) -> None:
    cache = CallCache(tmp_path / "cache.sqlite")
    cache.put(request(**sampling), ANSWER[0])
    assert not is_cacheable(request(**sampling))
    assert cache.get(request(**sampling)) is None
    cache.put(request(temperature=0), ANSWER[0])
    assert cache.get(request(**sampling)) is None
