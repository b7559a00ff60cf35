from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracebench_core.engine.meter import Meter, SharedCounter
from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Budget, SharedLimits


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
    clock.now += 4
    meter.grant_evaluation()
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
