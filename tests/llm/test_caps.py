"""Caps at the gateway: they hold for every caller, tell what was passed, and are refusals, not errors."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.llm.conftest import Door, Open, say

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Budget
from tracebench_gateway.client import GatewayClient
from tracebench_testing.fake_openai import FakeOpenAI

PRICE = {"fake": {"prompt": 1.0, "completion": 1.0}}


def ask_for_ever(client: GatewayClient, question: str) -> None:
    """Ask until something stops it."""
    for number in range(1000):
        client.complete(say(f"{question} {number}"), role="agent")


def register(door: Door, job_id: str, *, budget: Budget | None = None) -> GatewayClient:
    """Return a client for a further job, or a further attempt at one."""
    models = door.client._access.models
    return GatewayClient(door.gateway.register(job_id, budget=budget or Budget(), seed=2, models=models))


def test_calls_never_exceed_their_cap_however_many_threads_ask(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=10))

    def ask(number: int) -> bool:
        try:
            door.client.complete(say(f"question {number}"), role="agent")
        except BudgetExhausted:
            return False
        finally:
            door.client.close()
        return True

    with ThreadPoolExecutor(16) as pool:
        granted = list(pool.map(ask, range(25)))

    assert sum(granted) == 10
    assert door.client.used().llm_calls == 10
    assert door.client.used().refused == 15
    assert door.client.overshoot() == {}


def test_a_cap_of_zero_grants_nothing(open_door: Open) -> None:
    door = open_door(budget=Budget(tokens=0))
    with pytest.raises(BudgetExhausted) as stop:
        door.client.complete(say("hi"), role="optimizer")
    assert stop.value.axis == "tokens"


def test_tokens_never_pass_their_cap_when_the_model_keeps_its_limit(open_door: Open) -> None:
    door = open_door(budget=Budget(tokens=60))
    with pytest.raises(BudgetExhausted) as stop:
        ask_for_ever(door.client, "one two three")

    assert stop.value.axis == "tokens"
    assert 30 <= door.client.used().tokens <= 60
    assert door.client.overshoot() == {}


def test_usd_is_capped_at_the_configured_price(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, prices=PRICE, budget=Budget(usd=0.000045))
        with pytest.raises(BudgetExhausted) as stop:
            ask_for_ever(door.client, "a question")
        used = door.client.used()
        served = sum(s.prompt_tokens + s.completion_tokens for s in server.log.served)

    assert stop.value.axis == "usd"
    assert used.usd == pytest.approx(served / 1e6)
    assert 0.00002 <= used.usd <= 0.000045
    assert door.client.overshoot() == {}


def test_a_cap_in_usd_with_an_unpriced_model_is_an_error_and_asks_nobody(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(usd=1.0))
        with pytest.raises(ModelError, match=r"llm\.prices"):
            door.client.complete(say("hi"), role="agent")
        assert server.log.requests == []


def test_an_unknown_price_is_unknown_and_never_zero(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url)
        door.client.complete(say("hi"), role="agent")
    assert door.client.used().usd is None
    assert door.client.records()[0].usd is None


def test_seconds_count_from_the_first_call_and_nobody_sets_them_back(open_door: Open) -> None:
    door = open_door(budget=Budget(seconds=30))
    assert door.client.began() is None
    door.client.complete(say("hi"), role="agent")
    began = door.client.began()
    assert began is not None
    assert door.client.start_clock(elapsed=31) == began
    door.client.complete(say("hi"), role="agent")


def test_seconds_count_from_an_evaluation_before_the_first_call(open_door: Open) -> None:
    door = open_door(budget=Budget(seconds=30))
    door.client.start_clock(elapsed=31)
    with pytest.raises(BudgetExhausted) as stop:
        door.client.complete(say("hi"), role="agent")
    assert stop.value.axis == "seconds"


def test_a_call_under_way_ends_with_the_jobs_time(open_door: Open) -> None:
    with FakeOpenAI(script=["hang"]) as server:
        door = open_door(mode="real", base_url=server.base_url, budget=Budget(seconds=600), timeout=500)
        door.gateway.wait_ready()
        door.client.start_clock(elapsed=597)
        with pytest.raises(BudgetExhausted) as stop:
            door.client.complete(say("hi"), role="agent")
    assert (stop.value.axis, stop.value.scope) == ("seconds", "job")
    assert door.client.refusal() == ("seconds", "job")
    assert [record.status for record in door.client.records()] == ["error"]


def test_the_engines_own_scoring_is_metered_and_not_capped(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=0), run_budget=Budget(llm_calls=0))
    door.client.complete(say("hi"), role="agent", phase="scoring")
    assert [record.phase for record in door.client.records()] == ["scoring"]
    assert door.client.used().llm_calls == 0
    assert door.gateway.run_used().llm_calls == 1


def test_the_engines_own_scoring_obeys_the_runs_cap_in_usd(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url, prices=PRICE, run_budget=Budget(usd=0.00005))
        with pytest.raises(BudgetExhausted) as stop:
            score_for_ever(door.client)
        served = sum(s.prompt_tokens + s.completion_tokens for s in server.log.served)
    assert (stop.value.axis, stop.value.scope) == ("usd", "run")
    assert 0 < served / 1e6 <= 0.00005


def score_for_ever(client: GatewayClient) -> None:
    while True:
        client.complete(say("a question"), role="judge", phase="scoring")


def test_a_run_cap_holds_over_all_jobs(open_door: Open) -> None:
    door = open_door(run_budget=Budget(llm_calls=3))
    other = register(door, "other")
    for client in (door.client, other, door.client):
        client.complete(say("hi"), role="agent")
    with pytest.raises(BudgetExhausted) as stop:
        other.complete(say("hi"), role="agent")
    assert (stop.value.axis, stop.value.scope) == ("llm_calls", "run")
    other.close()


def test_a_new_attempt_at_a_job_starts_unspent_and_the_run_remembers(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=1))
    door.client.complete(say("hi"), role="agent")
    again = register(door, "job", budget=Budget(llm_calls=1))
    again.complete(say("hi"), role="agent")
    assert again.used().llm_calls == 1
    assert door.gateway.run_used().llm_calls == 2
    again.close()


def test_n_choices_are_n_calls(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=5))
    answers = door.client.complete(say("one two three four five six"), role="agent", n=3)
    assert len({answer.text for answer in answers}) == 3
    assert answers[0].usage.llm_calls == door.client.used().llm_calls == 3
    with pytest.raises(BudgetExhausted):
        door.client.complete(say("hi"), role="agent", n=3)


def test_a_client_that_ignores_refusals_is_slowed_down_and_counted(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=0))
    for _ in range(20):
        with pytest.raises(BudgetExhausted):
            door.client.complete(say("hi"), role="agent")
    begun = time.monotonic()
    for _ in range(4):
        with pytest.raises(BudgetExhausted):
            door.client.complete(say("hi"), role="agent")
    assert time.monotonic() - begun > 0.1 + 0.2 + 0.4
    assert door.client.used().refused == 24


def test_a_released_job_is_refused_for_good(open_door: Open) -> None:
    door = open_door()
    door.client.complete(say("hi"), role="agent")
    door.gateway.release("job")
    with pytest.raises(ModelError, match="has ended"):
        door.client.complete(say("hi"), role="agent")


def test_a_key_of_another_run_opens_nothing(open_door: Open) -> None:
    one, two = open_door(run="one"), open_door(run="two")
    stranger = one.client._access.model_copy(update={"base_url": two.gateway.base_url})
    client = GatewayClient(stranger)
    with pytest.raises(ModelError, match="not one of this run"):
        client.complete(say("hi"), role="agent")
    client.close()


def test_calls_wait_for_a_free_slot(open_door: Open) -> None:
    with FakeOpenAI(delay=0.2) as server:
        door = open_door(mode="real", base_url=server.base_url, max_concurrency=1)
        door.client.complete(say("first"), role="agent")
        begun = time.monotonic()
        threads = [
            threading.Thread(target=lambda n=n: (door.client.complete(say(str(n)), role="agent"), door.client.close()))
            for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert time.monotonic() - begun >= 3 * 0.2
