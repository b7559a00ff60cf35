from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracebench_core.engine.meter import Meter, SharedCounter
from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Budget, SharedLimits, Usage


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_no_more_evaluations_than_the_cap_are_granted_to_any_number_of_threads() -> None:
    meter = Meter(Budget(evaluations=50))
    granted: list[int] = []

    def take() -> None:
        for i in range(40):
            try:
                meter.grant_evaluation()
            except BudgetExhausted:
                return
            granted.append(i)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(granted) == meter.used().evaluations == 50


def test_a_cap_of_zero_grants_nothing() -> None:
    with pytest.raises(BudgetExhausted) as spent:
        Meter(Budget(evaluations=0)).grant_evaluation()
    assert (spent.value.axis, spent.value.scope) == ("evaluations", "job")


def test_time_that_is_over_grants_nothing_and_stopping_stops_the_clock() -> None:
    clock = Clock()
    meter = Meter(Budget(seconds=5), clock=clock)
    clock.now += 90
    meter.grant_evaluation()
    clock.now += 4
    assert meter.remaining("seconds") == 1
    clock.now += 1
    with pytest.raises(BudgetExhausted) as spent:
        meter.check_time()
    assert spent.value.axis == "seconds"
    meter.stop()
    clock.now += 100
    assert meter.used().seconds == 5


def test_the_runs_cap_is_shared_by_file(tmp_path: Path) -> None:
    limits = SharedLimits(evaluations=3, counter=str(tmp_path / "count"))
    one, other = Meter(Budget(), shared=limits), Meter(Budget(), shared=limits)
    one.grant_evaluation()
    other.grant_evaluation()
    one.grant_evaluation()

    with pytest.raises(BudgetExhausted) as spent:
        other.grant_evaluation()
    assert spent.value.scope == "run"
    assert SharedCounter(str(tmp_path / "count")).value() == 3
    assert (one.used().evaluations, other.used().evaluations) == (2, 1)


def test_a_free_axis_has_nothing_remaining_to_tell() -> None:
    assert Meter(Budget()).remaining("tokens") is None
    assert Meter(Budget(tokens=10)).remaining("tokens") == 10


class Asked:
    """Models of which the first was asked at some time, by whoever."""

    def __init__(self, began: float | None = None) -> None:
        self.first = began
        self.started = 0

    def used(self) -> Usage:
        return Usage()

    def refusal(self) -> None:
        return None

    def began(self) -> float | None:
        return self.first

    def start_clock(self) -> float | None:
        self.started += 1
        self.first = Clock.now if self.first is None else self.first
        return self.first


def test_the_clock_runs_from_the_first_evaluation_or_model_call_and_set_up_is_not_charged() -> None:
    clock, models = Clock(), Asked()
    meter = Meter(Budget(seconds=5), clock=clock, models=models)
    meter.opened()
    clock.now += 40
    meter.check_time()
    assert (meter.seconds(), meter.elapsed(), meter.remaining("seconds")) == (0, 40, 5)
    models.first = clock.now
    clock.now += 2
    assert meter.used().seconds == 2, "somebody has asked a model, past this process"
    meter.grant_evaluation()
    clock.now += 3
    with pytest.raises(BudgetExhausted):
        meter.grant_evaluation()
    assert meter.elapsed() == 45


@pytest.mark.parametrize(("cap", "latest"), [(0.5, 5), (3, 30), (3600, 60)])
def test_the_clock_of_a_trainer_that_asks_for_nothing_starts_at_last(cap: float, latest: float) -> None:
    clock = Clock()
    meter = Meter(Budget(seconds=cap), clock=clock)
    meter.opened()
    clock.now += latest
    meter.check_time()
    clock.now += cap
    with pytest.raises(BudgetExhausted):
        meter.check_time()


def test_an_evaluation_starts_the_clock_of_calls_too() -> None:
    models = Asked()
    meter = Meter(Budget(), models=models)
    meter.grant_evaluation()
    meter.grant_evaluation()
    assert models.started == 1
