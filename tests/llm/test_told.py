"""An answer to the engine tells what was filed up to it: nothing is asked for twice, nothing is missed, and nobody else is told."""

from __future__ import annotations

import http.client
import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.llm.conftest import Open, say

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Budget
from tracebench_gateway.access import LEDGER_HEADER
from tracebench_gateway.client import GatewayClient, JobCalls

THREADS, CALLS = 16, 160


class Counting(GatewayClient):
    """Keeps what it sends, and can lose the answers to calls."""

    loses = False

    def _exchange(self, method: str, path: str, headers: dict[str, str], content: bytes | None) -> tuple[int, bytes]:
        self.__dict__.setdefault("sent", []).append(path.partition("?")[0].rpartition("/")[2])
        answer = super()._exchange(method, path, headers, content)
        if self.loses and path.endswith("completions"):
            raise http.client.IncompleteRead(answer[1][:10])
        return answer

    @property
    def sent(self) -> list[str]:
        """The last words of the paths of all requests."""
        return list(self.__dict__.get("sent", []))


def test_a_call_is_one_request(open_door: Open) -> None:
    client = Counting(open_door(budget=Budget(llm_calls=2)).client._access, is_fresh=True)
    assert (client.records(), client.used().llm_calls, client.refusal(), client.began()) == ([], 0, None, None)
    client.complete(say("hello"), role="agent")
    assert (len(client.records()), client.used().llm_calls) == (1, 1)
    assert client.began() is not None
    client.complete(say("hello again"), role="agent")
    assert (client.used().llm_calls, [record.call for record in client.records(1)]) == (2, [2])
    with pytest.raises(BudgetExhausted):
        client.complete(say("once more"), role="agent")
    refused = client.refusal()
    assert (refused and refused.axis, client.used().refused) == ("llm_calls", 1)
    client.end_training()
    assert (client.used().llm_calls, [record.status for record in client.records(2)]) == (2, ["refused"])
    client.close()

    assert client.sent == ["completions", "completions", "completions", "end"]


def test_a_job_that_asks_no_model_asks_the_gateway_for_nothing(open_door: Open) -> None:
    client = Counting(open_door().client._access, is_fresh=True)
    assert (client.records(), client.used().llm_calls, client.refusal(), client.began()) == ([], 0, None, None)
    client.end_training()
    assert (client.records(), client.sent) == ([], [])
    with pytest.raises(ModelError, match="training of job `job` has ended"):
        client.complete(say("hello"), role="agent")
    assert client.sent == ["end", "completions"]
    client.close()


def test_a_door_that_is_opened_after_training_opens_nothing(open_door: Open) -> None:
    access = open_door().client._access
    client, other = GatewayClient(access, is_fresh=True), GatewayClient(access)
    client.end_training()
    client.endpoint("agent")
    with pytest.raises(ModelError, match="training of job `job` has ended"):
        other.complete(say("hello"), role="agent")
    client.close()
    other.close()


def test_calls_and_refusals_of_forked_children_are_asked_for(open_door: Open) -> None:
    client = GatewayClient(open_door(budget=Budget(llm_calls=2)).client._access, is_fresh=True)
    client.complete(say("hello"), role="agent")
    assert (len(client.records()), client.refusal()) == (1, None)
    child = os.fork()
    if child == 0:
        try:
            client.complete(say("hello again"), role="agent")
            client.complete(say("once more"), role="agent")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert (client.used().llm_calls, client.refusal()) == (2, ("llm_calls", "job"))
    assert [(record.call, record.status) for record in client.records(1)] == [(2, "ok"), (3, "refused")]
    client.end_training()
    client.close()


def test_who_goes_on_with_a_job_asks_what_there_was(open_door: Open) -> None:
    access = open_door().client._access
    first, second = GatewayClient(access, is_fresh=True), Counting(access)
    first.complete(say("hello"), role="agent")
    first.close()

    assert [record.call for record in second.records()] == [1]
    assert [record.call for record in second.records()] == [1]
    assert (second.records(1), second.used().llm_calls) == ([], 1)
    assert [record.call for record in second.records()] == [1]
    second.close()

    assert second.sent == ["records", "records"]


def test_a_call_whose_answer_was_lost_is_asked_for(open_door: Open) -> None:
    client = Counting(open_door().client._access, is_fresh=True)
    client.complete(say("one"), role="agent")
    client.loses = True
    with pytest.raises(http.client.IncompleteRead):
        client.complete(say("two"), role="agent")
    client.loses = False

    assert [record.call for record in client.records(1)] == [2]
    client.complete(say("three"), role="agent")
    assert [record.call for record in client.records(2)] == [3]
    client.close()

    assert client.sent == ["completions", "completions", "records", "completions"]


def test_calls_of_others_are_seen_once_a_door_is_open(open_door: Open) -> None:
    client = Counting(open_door().client._access, is_fresh=True)
    client.complete(say("mine"), role="agent")
    door = client.endpoint("optimizer")
    key = {"Authorization": f"Bearer {door.api_key.get_secret_value()}"}
    httpx.post(f"{door.base_url}/chat/completions", headers=key, json={"model": door.model, "messages": say("theirs")})

    assert [record.role for record in client.records()] == ["agent", "optimizer"]
    client.end_training()
    assert [record.role for record in client.records()] == ["agent", "optimizer"]
    client.close()

    assert client.sent == ["completions", "records", "end"]


@pytest.mark.parametrize("who", ["nobody", "the job's key", "another job's engine", "rubbish"])
def test_nobody_else_is_told(open_door: Open, who: str) -> None:
    door = open_door()
    access = door.client._access
    other = door.gateway.register("other", budget=Budget(), seed=1, models=access.models)
    own = access.keys["agent"]["training"]
    keys = {"nobody": "", "the job's key": own, "another job's engine": other.engine_key, "rubbish": "\u00e9" * 40}
    headers = {"Authorization": f"Bearer {own}".encode()}
    if keys[who]:
        headers[LEDGER_HEADER] = f"{keys[who]} 0".encode()
    model = access.models["agent"].model
    url = f"{access.base_url}/chat/completions"

    for messages, status in ((say("hi"), 200), ([], 400)):
        answer = httpx.post(url, headers=headers, json={"model": model, "messages": messages})
        assert answer.status_code == status
        assert "tracebench" not in answer.json()


def test_threads_are_told_everything_once(open_door: Open) -> None:
    client = Counting(open_door().client._access, is_fresh=True)

    def ask(number: int) -> None:
        client.complete(say(f"question {number}"), role="agent")
        assert client.used().llm_calls >= 1
        client.close()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(CALLS)))

    assert [record.call for record in client.records()] == list(range(1, CALLS + 1))
    assert client.used().llm_calls == CALLS
    client.close()
    assert client.sent.count("completions") == CALLS


def _standing(calls: int, after: int) -> dict[str, Any]:
    records = [{"call": number} for number in range(after + 1, calls + 1)]
    return {
        "used": {"llm_calls": calls},
        "refusal": None,
        "scoring_refusal": None,
        "began": 1.0,
        "calls": calls,
        "records": records,
    }


@pytest.mark.parametrize("seed", range(20))
def test_answers_may_come_in_any_order(seed: int) -> None:
    rng, told = random.Random(seed), JobCalls(is_whole=True)
    under_way: list[dict[str, Any]] = []
    filed = read = 0
    for _ in range(60):
        after = told.last
        filed += 1
        under_way.append(_standing(filed, after))
        if rng.random() < 0.5:
            told.hear(under_way.pop(rng.randrange(len(under_way))))
        if rng.random() < 0.2:
            read += len(told.records())
            told.begin_after(read)
    while under_way:
        told.hear(under_way.pop(rng.randrange(len(under_way))))

    assert told.is_whole
    assert [record["call"] for record in told.records()] == list(range(read + 1, filed + 1))
    assert told.used.llm_calls == filed


def test_a_gap_is_closed_by_whoever_asked_after_it() -> None:
    told = JobCalls(is_whole=False)
    asked = told.gaps
    told.hear(None)
    told.hear(_standing(1, 0), closed=asked)
    assert not told.is_whole
    told.hear(_standing(2, 1), closed=told.gaps)
    assert told.is_whole
    told.begin_after(7)
    assert not told.is_whole
