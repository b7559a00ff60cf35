"""Simulated runs keep the laws of the record through every schedule of faults, and break them where a defence is taken back.

A small part of the schedules runs always; `.ci/run` has five hundred (`python -m tests.simulation`), `.ci/soak` a million.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from tests.simulation import laws
from tests.simulation.__main__ import memory
from tests.simulation.mends import MENDS, SIGNS, numbers_of_their_own, taken_after_all
from tests.simulation.schedule import Bench, Schedule

from tracebench_core.specs import JobOrder
from tracebench_engine.run.underway import MOST_BREAKS

ALWAYS = 16
MOST = 600
"""Schedules within which a fault of old is found again."""
FIRST = {
    "journal gone": 50,
    "deaths are no measurements": 26,
    "measurements are signed": 35,
    "only its runner knows": 141,
}
"""Schedules that found it when they were last looked through: they are tried before the others, which costs only time where they find
nothing any more."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Return what the schedules have in common."""
    with memory() as folder:
        yield Bench(folder)


@pytest.mark.timeout(300)
def test_whatever_happens_to_a_run_its_record_is_what_it_always_is(bench: Bench) -> None:
    reports = [bench.try_one(seed) for seed in range(1, ALWAYS + 1)]
    assert {report.seed: report.wrong for report in reports if report.wrong} == {}
    assert len(set().union(*(report.met for report in reports))) > 20


@pytest.mark.timeout(300)
def test_a_schedule_is_what_its_seed_says(bench: Bench) -> None:
    for seed in (3, 4, 5):
        first, again = bench.try_one(seed), bench.try_one(seed)
        assert (first.met, first.resumes, first.operations) == (again.met, again.resumes, again.operations)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mend", MENDS)
def test_a_defence_that_is_taken_back_is_missed(bench: Bench, monkeypatch: pytest.MonkeyPatch, mend: str) -> None:
    MENDS[mend](monkeypatch)
    with bench.recordings.made_anew():
        for seed in chain([FIRST[mend]] if mend in FIRST else [], range(1, MOST)):
            report = bench.try_one(seed)
            if found := [words for words in report.wrong if SIGNS[mend] in words]:
                print(f"{mend}: found by schedule {seed}: {found[0][:200]}")
                return
    pytest.fail(f"{MOST} schedules do not miss it")


def ends_of_the_first_template_are_told_again(schedule: Schedule) -> None:
    """Script a schedule: the twin of the first template dies, and the ends that are told then are told to its successor, too."""
    outside, launch, launched = schedule.outside, schedule.outside.launch, []

    def launch_and_lose(*given: Any) -> Any:
        launched.append(launch(*given))
        if len(launched) == 1:
            outside.clock.at(1.0, launched[0][2].vanish)
        return launched[-1]

    def as_told(end: dict[str, Any]) -> list[dict[str, Any]]:
        if len(launched) == 1:
            outside.clock.at(1.0, lambda: outside._tell_all(end))
        return [end]

    outside.launch, outside.as_told = launch_and_lose, as_told  # type: ignore[method-assign]


def test_an_end_of_one_template_is_not_taken_for_that_of_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong() -> list[str]:
        found = []
        for seed in range(1, 6):
            schedule = Schedule(bench, seed, faults=0)
            ends_of_the_first_template_are_told_again(schedule)
            schedule.run()
            found += schedule.report.wrong
        return found

    assert wrong() == []
    numbers_of_their_own(monkeypatch)
    assert any("never ends" in words for words in wrong())


def servers_die_again_and_again(schedule: Schedule, phase: str, times: int) -> None:
    """Script a schedule: each server under a phase of the first job dies in turn, and the job takes that for measurements."""
    outside, (first, *_) = schedule.outside, schedule.bench.plan.jobs
    left = [times]
    outside.has_servers = True

    def fate_of(order: JobOrder) -> str:
        if order.job.job_id != first.job_id or order.phase != phase or not left[0]:
            return "done"
        left[0] -= 1
        return "server dies unnoticed"

    outside.fate_of = fate_of  # type: ignore[method-assign]


@pytest.mark.parametrize(("phase", "status"), [("train", "failed"), ("score", "unscored")])
def test_a_job_whose_server_dies_each_time_has_no_result_and_gets_one_when_servers_live(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, phase: str, status: str
) -> None:
    def outcome() -> tuple[list[str], list[str]]:
        schedule = Schedule(bench, 1, faults=0)
        servers_die_again_and_again(schedule, phase, MOST_BREAKS + 1)
        schedule._process("run", schedule._begin)
        told = laws.statuses(schedule.layout)
        schedule._process("resume", lambda: schedule._resume(failed=True))
        return told, [*schedule.report.wrong, *schedule._broken_at_the_end()]

    assert outcome() == (sorted(["ok", status]), [])
    taken_after_all(monkeypatch)
    assert any("-7.0" in words for words in outcome()[1])
