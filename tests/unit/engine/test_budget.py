from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import AXES, Budget, SharedLimits, Usage
from tracebench_engine.job.budget import MOST_REFUSALS, Meter, SharedCounter
from tracebench_gateway.access import Refusal


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_every_axis_heads_a_column_with_a_name_of_its_own() -> None:
    assert [axis.column for axis in AXES] == ["evaluations", "calls", "tokens", "usd", "seconds"]


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

    def __init__(self, began: float | None = None, turned_away: Refusal | None = None) -> None:
        self.first = began
        self.started = 0
        self.turned_away = turned_away

    def used(self) -> Usage:
        return Usage()

    def refusal(self) -> Refusal | None:
        return self.turned_away

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


@pytest.mark.parametrize(("seconds", "started"), [(60.0, 1), (None, 0)])
def test_an_evaluation_starts_the_clock_of_calls_too_where_it_is_capped(seconds: float | None, started: int) -> None:
    models = Asked()
    meter = Meter(Budget(seconds=seconds), clock=Clock(), models=models)
    meter.grant_evaluation()
    meter.grant_evaluation()
    assert models.started == started


def test_the_clock_starts_at_its_latest_time_and_not_before() -> None:
    for cap, latest in ((0.5, 5), (3, 30), (3600, 60)):
        clock = Clock()
        meter = Meter(Budget(seconds=cap), clock=clock)
        meter.opened()
        clock.now += latest - 0.25
        assert meter.seconds() == 0
        clock.now += 0.25
        assert meter.seconds() == 0
        clock.now += 0.25
        assert meter.seconds() == 0.25


def test_what_has_elapsed_may_be_more_than_the_clock_showed_before() -> None:
    clock = Clock()
    meter = Meter(Budget(), clock=clock)
    meter.opened()
    clock.now += 350
    assert meter.elapsed() == 350


def test_what_would_pass_the_cap_is_demanded_in_vain_and_counts_nothing() -> None:
    meter = Meter(Budget(evaluations=10))
    for _ in range(6):
        meter.grant_evaluation()
    meter.demand(4)
    meter.demand(2)
    with pytest.raises(BudgetExhausted) as spent:
        meter.demand(5)
    assert (spent.value.axis, spent.value.scope, meter.used().evaluations) == ("evaluations", "job", 6)
    for _ in range(4):
        meter.grant_evaluation()
    meter.demand(0)
    with pytest.raises(BudgetExhausted):
        meter.demand(1)
    Meter(Budget()).demand(1_000_000)


def test_settling_counts_what_was_made() -> None:
    meter = Meter(Budget(evaluations=10))
    for _ in range(6):
        meter.grant_evaluation()
    meter.settle(4)
    assert (meter.used().evaluations, meter.remaining("evaluations")) == (4, 6)


def test_a_model_call_that_was_turned_away_ends_the_training() -> None:
    Meter(Budget(), models=Asked()).check()
    meter = Meter(Budget(), models=Asked(turned_away=Refusal("tokens", "run")))
    assert meter.refusal() == Refusal("tokens", "run")
    with pytest.raises(BudgetExhausted) as spent:
        meter.check()
    assert (spent.value.axis, spent.value.scope) == ("tokens", "run")


def test_the_first_refusal_is_kept() -> None:
    clock = Clock()
    meter = Meter(Budget(evaluations=0, seconds=5), clock=clock, models=Asked(turned_away=Refusal("tokens", "run")))
    with pytest.raises(BudgetExhausted):
        meter.grant_evaluation()
    clock.now += 5
    with pytest.raises(BudgetExhausted) as spent:
        meter.check_time()
    assert spent.value.axis == "seconds"
    assert meter.refusal() == Refusal("evaluations", "job")


@pytest.mark.parametrize(("gone", "left"), [(4.5, 0.5), (5, 0), (7, 0)])
def test_what_remains_is_never_negative(gone: float, left: float) -> None:
    clock = Clock()
    meter = Meter(Budget(seconds=5), clock=clock)
    meter.grant_evaluation()
    clock.now += gone
    assert meter.remaining("seconds") == left


def test_the_end_of_the_runs_time_ends_the_job() -> None:
    Meter(Budget(), shared=SharedLimits(deadline=time.monotonic() + 3600)).check_time()
    with pytest.raises(BudgetExhausted) as spent:
        Meter(Budget(), shared=SharedLimits(deadline=time.monotonic() - 1)).check_time()
    assert (spent.value.axis, spent.value.scope) == ("seconds", "run")


def test_a_trainer_that_hears_no_refusal_is_told_of_when_it_has_had_its_share() -> None:
    told: list[Refusal] = []
    meter = Meter(Budget(evaluations=0), on_deaf=told.append)

    def ask() -> None:
        with pytest.raises(BudgetExhausted):
            meter.grant_evaluation()

    for _ in range(MOST_REFUSALS):
        ask()
    assert told == []
    ask()
    assert told == [Refusal("evaluations", "job")]
    Meter(Budget(evaluations=0)).demand(0)


def test_a_cap_that_is_large_or_was_lowered_grants_no_more(tmp_path: Path) -> None:
    meter = Meter(Budget(evaluations=600))
    counter = SharedCounter(str(tmp_path / "count"))
    for _ in range(600):
        meter.grant_evaluation()
        assert counter.take(600)
    with pytest.raises(BudgetExhausted):
        meter.grant_evaluation()
    assert [counter.take(cap) for cap in (600, 300, 0)] == [False, False, False]
    assert counter.value() == 600


def test_a_counter_is_its_owners_and_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "count"
    assert SharedCounter(str(path)).take(1)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == bytes([1, 0, 0, 0, 0, 0, 0, 0])
    assert SharedCounter(str(path)).value() == 1
