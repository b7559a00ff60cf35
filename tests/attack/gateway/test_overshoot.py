"""A crowd of callers meets every cap at once: what is spent stays within it, whole or streamed, dropped or not."""

from __future__ import annotations

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.llm.conftest import Door, Open, say
from tests.whole import cells

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Axis, Budget
from tracebench_testing import fake_openai
from tracebench_testing.fake_openai import FakeOpenAI

CALLERS = 100
PRICE = {"fake": {"prompt": 1.0, "completion": 2.0}}
CAPS: dict[Axis, float] = {"llm_calls": 40, "tokens": 3_000, "usd": 0.003}
LONG = " ".join(["word"] * 60)


def long_answer(_: object) -> str:
    """Answer with more words than most limits allow."""
    return LONG


def ask(door: Door, number: int, **fields: Any) -> int:
    """Ask once, on a connection of its own; returns the status code."""
    endpoint = door.client.endpoint("agent")
    connection = http.client.HTTPConnection(urlsplit(endpoint.base_url).netloc, timeout=120)
    try:
        body = json.dumps({"messages": say(f"question {number}")} | fields)
        key = endpoint.api_key.get_secret_value()
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def crowd(door: Door, *, callers: int = CALLERS, **fields: Any) -> list[int]:
    """Ask once for every caller, all at the same time; returns the status codes."""
    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(lambda number: ask(door, number, **fields), range(callers)))


@pytest.mark.parametrize(
    ("axis", "stream"),
    cells(product(CAPS, (False, True)), always=[("tokens", True)]),
)
def test_a_crowd_spends_no_more_than_the_cap(open_door: Open, axis: Axis, stream: bool) -> None:
    with FakeOpenAI(reply=long_answer, delay=0.01) as server:
        caps = Budget.model_validate({axis: CAPS[axis]})
        budgets = {"run_budget" if stream else "budget": caps}  # one scope each: they share their arithmetic
        door = open_door(mode="real", base_url=server.base_url, prices=PRICE, max_tokens=50, **budgets)
        statuses = crowd(door, stream=stream)
        served = server.log.served
        used = door.client.used()

    assert set(statuses) == {200, 402}
    assert statuses.count(200) == len(served) == used.llm_calls
    tokens = sum(s.prompt_tokens + s.completion_tokens for s in served)
    usd = sum(s.prompt_tokens + 2 * s.completion_tokens for s in served) / 1e6
    spent = {"llm_calls": len(served), "tokens": tokens, "usd": usd}[axis]
    assert CAPS[axis] / 2 < spent <= CAPS[axis]
    assert door.client.overshoot() == {}
    assert not any(door.gateway._ask("GET", "/admin/run")["held"].values())


@pytest.mark.parametrize(
    ("callers", "axis", "stream"),
    cells(
        product((1, 16, CALLERS), ("tokens", "usd"), (False, True)),
        always=[(1, "tokens", False), (16, "usd", True)],
    ),
)
def test_a_strict_cap_holds_against_the_worst_bill(open_door: Open, callers: int, axis: Axis, stream: bool) -> None:
    with FakeOpenAI(reply=long_answer, delay=0.01, bills_worst=True) as server:
        caps = Budget.model_validate({axis: CAPS[axis], "strict": True})
        door = open_door(mode="real", base_url=server.base_url, prices=PRICE, max_tokens=50, budget=caps)
        while crowd(door, callers=callers, stream=stream)[-1] == 200:
            pass
        served = server.log.served

    tokens = sum(s.prompt_tokens + s.completion_tokens for s in served)
    usd = sum(s.prompt_tokens + 2 * s.completion_tokens for s in served) / 1e6
    spent = {"tokens": tokens, "usd": usd}[axis]
    assert CAPS[axis] / 2 < spent <= CAPS[axis]
    assert door.client.overshoot() == {}
    assert not any(door.gateway._ask("GET", "/admin/run")["held"].values())


def test_an_answer_that_nobody_counts_is_filed_at_its_worst_under_a_strict_cap(open_door: Open) -> None:
    with FakeOpenAI(script=["no-usage", "truncated", "hang"]) as server:
        door = open_door(
            mode="real", base_url=server.base_url, timeout=0.5, max_retries=0, budget=Budget(tokens=10_000, strict=True)
        )
        door.client.complete(say("hi"), role="agent", max_tokens=30)
        for _ in range(2):
            with pytest.raises(ModelError):
                door.client.complete(say("hi"), role="agent", max_tokens=30)
        sent = [len(json.dumps(request, separators=(",", ":"))) for request in server.log.requests]
    for record, size in zip(door.client.records(), sent, strict=True):
        assert record.prompt_tokens >= size
        assert record.completion_tokens == 30


def test_what_a_provider_counts_beyond_belief_is_filed_as_far_as_bytes_allow(open_door: Open) -> None:
    hidden = {"name": "lookup", "parameters": {"description": "x" * 30_000}}
    with FakeOpenAI(script=["absurd-usage"]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        assert ask(door, 1, tools=[{"type": "function", "function": hidden}]) == 200
    assert door.client.records()[0].prompt_tokens > 30_000


def test_a_call_that_takes_more_than_was_set_aside_is_told(open_door: Open) -> None:
    with FakeOpenAI(reply=long_answer, bills_worst=True) as server:
        door = open_door(mode="real", base_url=server.base_url, max_tokens=50, budget=Budget(tokens=10_000))
        assert ask(door, 1) == 200
        size = len(json.dumps(server.log.requests[0], separators=(",", ":")))
    (line,) = [json.loads(line) for line in (door.run_dir / "llm/ledger.jsonl").read_text().splitlines()][1:2]
    assert 0 < line["overshoot"] < size


def test_an_answer_without_choices_is_charged_as_it_was_counted(open_door: Open) -> None:
    with FakeOpenAI(script=["empty"]) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(llm_calls=1))
        assert ask(door, 1) == 502
        assert ask(door, 2) == 402
    assert door.client.used().llm_calls == 1
    assert door.client.used().tokens == 1


def test_a_call_that_waits_for_a_provider_that_refuses_it_costs_nothing(
    open_door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_openai, "RETRY_AFTER_SECONDS", 100)
    with FakeOpenAI(script=["429", "429-retry-after"]) as server, ThreadPoolExecutor(1) as pool:
        door = open_door(mode="real", base_url=server.base_url, max_retries=50)
        asking = pool.submit(ask, door, 1)
        while len(server.log.requests) < 2:
            time.sleep(0.01)
        time.sleep(1)  # it waits once it has read the second refusal: what is under way costs what nobody knows
        door.client.end_training()
        assert asking.result() == 401
    (record,) = door.client.records()
    assert (record.status, record.prompt_tokens, record.usd) == ("error", 0, 0.0)
    assert door.client.used().llm_calls == 0


def ask_for_ever(door: Door) -> None:
    """Ask for many choices until something stops it."""
    while True:
        door.client.complete(say("hi"), role="agent", n=16)


def test_one_request_for_many_choices_is_many_calls(open_door: Open) -> None:
    with FakeOpenAI(reply=long_answer) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(tokens=1_000))
        with pytest.raises(BudgetExhausted):
            ask_for_ever(door)
        assert {request["max_tokens"] for request in server.log.requests} <= set(range(1, 60))
    assert door.client.used().tokens <= 1_000


def test_what_is_sent_is_the_smaller_of_what_is_asked_and_what_is_left_and_is_filed(open_door: Open) -> None:
    with FakeOpenAI(reply=long_answer) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(tokens=100), record=True)
        first = door.client.complete(say("hi"), role="agent", max_tokens=30)[0]
        door.client.complete(say("hi"), role="agent")
        asked = [request["max_tokens"] for request in server.log.requests]
    assert first.finish_reason == "length"
    assert asked[0] == 30
    assert (
        asked[1] == 100 - (30 + 4) - (4 + 10)
    )  # what the first took by the provider's count, and the second's prompt by ours: four tokens, and a third of its 30 bytes
    lines = [json.loads(line) for line in (door.run_dir / "llm/ledger.jsonl").read_text().splitlines()]
    assert [line.get("limit") for line in lines if line["kind"] == "llm_call"] == [None, asked[1]]


def test_a_request_that_only_calls_under_way_stand_against_waits_for_them(open_door: Open) -> None:
    with FakeOpenAI(delay=0.05) as server:
        door = open_door(mode="real", base_url=server.base_url, max_tokens=100, budget=Budget(tokens=150))
        statuses = crowd(door, callers=5)
    assert statuses == [200] * 5  # each takes about ten tokens, though a hundred are set aside
    assert door.client.refusal() is None


def drop_after_first_piece(door: Door, number: int) -> None:
    """Ask for a stream and hang up at its first piece."""
    endpoint = door.client.endpoint("agent")
    body = json.dumps({"messages": say(f"question {number} " * 10), "stream": True}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {endpoint.api_key.get_secret_value()}\r\n"
    where = urlsplit(endpoint.base_url)
    with socket.create_connection((where.hostname, where.port), timeout=60) as line:
        line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        line.recv(100)


def test_a_stream_that_is_dropped_is_paid_for(open_door: Open) -> None:
    with FakeOpenAI(reply=long_answer, pause=0.02) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(llm_calls=3))
        for number in range(12):
            drop_after_first_piece(door, number)
        door.client.end_training()
        seen = len(server.log.requests)
    assert seen == 3
    assert [r.status for r in door.client.records() if r.status != "refused"] == ["error"] * 3
    assert all(r.prompt_tokens > 20 and r.estimated for r in door.client.records() if r.status == "error")
    assert door.client.used().llm_calls == 3


def test_calls_under_way_when_training_ends_are_ended_and_filed(open_door: Open) -> None:
    with FakeOpenAI(script=["hang"] * 6) as server:
        door = open_door(mode="real", base_url=server.base_url)

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(crowd, door, callers=6)
            while len(server.log.requests) < 6:
                time.sleep(0.01)
            door.client.end_training()
            assert asking.result() == [401] * 6
        with pytest.raises(ModelError, match="training of job `job` has ended"):
            door.client.complete(say("late"), role="agent")
        door.client.complete(say("scored"), role="agent", phase="scoring")
    records = door.client.records()
    assert [r.status for r in records] == ["error"] * 6 + ["ok"]
    assert all(r.prompt_tokens for r in records)
    assert door.client.used().llm_calls == 6
    assert door.gateway.run_used().llm_calls == 7
