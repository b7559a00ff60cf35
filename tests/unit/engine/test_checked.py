"""Which tasks count as calibrated, what is checked of tasks and machine, and which tasks of a trainer run side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import BudgetState, CaseVerdict, Judge, Requirement, TaskSpec
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks import doctor, validation
from tracebench_engine.checks.calibration.machine import Machine
from tracebench_engine.checks.calibration.record import Entry, Standing, _changed, refusal_of, why_refused
from tracebench_engine.checks.trial import Check
from tracebench_engine.config import parse_config
from tracebench_engine.job.sections import Sections


def verdict(kind: str, result: str, why: str = "") -> CaseVerdict:
    return CaseVerdict.model_validate(
        {"case": f"{kind} case", "kind": kind, "result": result, "expected": "1", "seen": "2", "why": why}
    )


def entry(*verdicts: CaseVerdict, stands_on: dict[str, str] | None = None) -> Entry:
    return Entry(
        task="t", options={}, comparability=1, machine=Machine(id="m", words="a machine"), judge=Judge(version="1", digest="d"),
        stands_on=stands_on, made=datetime(2026, 11, 29, tzinfo=UTC), verdicts=verdicts,
    )  # fmt: skip


HERE = "calibrated here on 2026-11-29, "
WITHOUT = "never calibrated: it offers no case"
REFUSED = "its calibration did not pass on this machine: `ratio case` (ratio): expected 1, seen 2"
CAME_OUT = [("gold", "failed"), ("ratio", "noisy"), ("same", "skipped"), ("form", "passed")]


@pytest.mark.parametrize(
    ("place", "found", "words", "calibrated"),
    [
        ("never", None, "never calibrated", "never"),
        ("here", [], "never calibrated: it offers no case", "never"),
        ("here", [verdict("forged", "passed")], "never calibrated: no figure that is known was measured", "never"),
        ("here", [verdict("gold", "passed")], HERE + "1 cases passed", "here"),
        ("here", [verdict("gold", "passed"), verdict("known", "passed"), verdict("ratio", "skipped")],
         HERE + "2 cases passed", "here"),
        ("elsewhere", [verdict("gold", "passed")], "calibrated elsewhere (a machine) on 2026-11-29, 1 cases passed", "elsewhere"),
        ("here", [verdict("gold", "failed"), verdict("known", "passed")], HERE + "1 of 2 cases did not pass", "never"),
        ("here", [verdict("forged", "noisy")], HERE + "1 of 1 cases did not pass", "never"),
    ],
)  # fmt: skip
def test_where_a_task_was_calibrated_is_told_with_how_its_cases_came_out(
    place: Any, found: Any, words: str, calibrated: str
) -> None:
    standing = Standing(place, None if found is None else entry(*found))
    assert (standing.words, standing.calibrated) == (words, calibrated)


def test_the_verdicts_that_did_not_pass_may_be_asked_for_by_kind() -> None:
    standing = Standing(
        "here",
        entry(
            verdict("gold", "failed"), verdict("ratio", "noisy"), verdict("same", "skipped"), verdict("form", "passed")
        ),
    )
    assert [v.kind for v in standing.failing()] == ["gold", "ratio"]
    assert [v.kind for v in standing.failing(["ratio", "same", "form"])] == ["ratio"]
    assert Standing("never", changed="so").words == "never calibrated: so"


@pytest.mark.parametrize(
    ("verdicts", "why"),
    [
        ([verdict("ratio", "passed"), verdict("gold", "failed")], ""),
        ([verdict("ratio", "failed")], ": `ratio case` (ratio): expected 1, seen 2"),
        ([verdict("gold", "failed"), verdict("same", "skipped", "busy")], ": `same case` (same): expected 1, seen 2. busy"),
        ([verdict("same", "noisy", "so"), verdict("ratio", "failed"), verdict("ratio", "failed")],
         ": `same case` (same): expected 1, seen 2. so; 2 more"),
    ],
)  # fmt: skip
def test_a_timed_task_is_refused_by_the_cases_that_compare_times(verdicts: Any, why: str) -> None:
    words = f"its calibration did not pass on this machine{why}" if why else ""
    assert why_refused(verdicts) == words
    assert [refusal_of(Standing(place, entry(*verdicts))) for place in ("here", "elsewhere")] == [words, ""]
    assert refusal_of(Standing("here")) == ""


@pytest.mark.parametrize(
    ("stands_on", "now", "words"),
    [
        ({"cc": "1"}, {"cc": "2"}, "was seen with `cc` 1, which is 2 now"),
        ({"cc": "1", "lib": "3"}, {"cc": "1"}, "was seen with `lib` 3, which is none now"),
        ({}, {"a": "1", "b": "2"}, "was seen with `a` none, which is 1 now; `b` none, which is 2 now"),
        (None, {"a": "1", "b": "2"}, "does not tell its versions of a, b"),
    ],
)
def test_what_changed_since_is_told_name_by_name(stands_on: Any, now: Any, words: str) -> None:
    assert _changed(entry(stands_on=stands_on), now) == f"what was seen here on 2026-11-29 {words}"


@pytest.mark.parametrize(
    ("timed", "standing", "check"),
    [
        (False, Standing("never"), Check("OK", "s:t", "never calibrated")),
        (True, Standing("never"), Check("OK", "s:t", "never calibrated; the run does so first")),
        (True, Standing("here", entry()), Check("WARN", "s:t", WITHOUT + ", so that a run scores it only with `uncalibrated: score`")),
        (False, Standing("here", entry()), Check("OK", "s:t", WITHOUT)),
        (
            True, Standing("here", entry(verdict("ratio", "failed"))),
            Check("FAIL", "s:t", REFUSED + ": trace-bench calibrate s:t"),
        ),
        (
            False, Standing("here", entry(verdict("ratio", "failed"))),
            Check("OK", "s:t", HERE + "1 of 1 cases did not pass"),
        ),
    ],
)  # fmt: skip
def test_a_sound_task_is_checked_with_where_it_was_calibrated(
    monkeypatch: pytest.MonkeyPatch, timed: bool, standing: Standing, check: Check
) -> None:
    monkeypatch.setattr(validation, "standing", lambda *_: standing)
    choice: Any = SimpleNamespace(id="s:t", spec=SimpleNamespace(timed=timed), options={})
    assert validation._calibrated(Check("OK", "s:t", "so"), choice, None) == check  # type: ignore[arg-type]  # not asked


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


def test_each_task_is_told_what_is_odd_about_it_before_it_is_tried(
    host: PluginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "standing", lambda *_: Standing("never"))
    absent = Requirement(kind="command", name="nothing-of-this-name", hint="get it")

    def told(trials: Any = None, **fields: Any) -> list[Check]:
        spec = TaskSpec(name="t", loader="t:t", title="t", **fields)
        return [*validation._tried([SimpleNamespace(id="s:t", spec=spec, options={})], trials, host)]  # type: ignore[list-item]

    def trial(*check: str) -> Any:
        return SimpleNamespace(try_task=lambda *_, **__: Check(*check))  # type: ignore[arg-type]

    assert told() == [Check("OK", "s:t")]
    (lacking,) = told(requires=(absent,))
    assert (lacking.level, lacking.message.endswith("; never calibrated")) == ("SKIP", True)
    assert told(self_reported=("a", "b"), unconfined=True) == [
        Check("WARN", "s:t", "self-reported: a, b; a candidate prints what it likes, and nothing else measures it"),
        Check("WARN", "s:t", "executes what a model writes in the process of the job, in no sandbox"),
        Check("OK", "s:t"),
    ]
    assert told(trial("OK", "s:t", "odd")) == [Check("WARN", "s:t", "odd"), Check("OK", "s:t", "never calibrated")]
    assert told(trial("OK", "s:t")) == [Check("OK", "s:t", "never calibrated")]
    assert told(trial("FAIL", "s:t", "no")) == [Check("FAIL", "s:t", "no")]
    assert validation._resolves(host, "trainer", "NoOp") == Check("OK", "trainer NoOp")
    assert validation._resolves(host, "trainer", "NoOpp").level == "FAIL"


@pytest.mark.parametrize(
    ("level", "require", "ok", "needed"),
    [
        ("strong", "auto", True, True), ("strong", "strong", True, True), ("namespaces", "auto", True, True),
        ("namespaces", "strong", False, True), ("process", "auto", False, True), ("process", "process", False, False),
        ("namespaces", "process", True, False),
    ],
)  # fmt: skip
def test_a_machine_holds_candidates_well_enough_for_what_is_demanded(
    monkeypatch: pytest.MonkeyPatch, level: str, require: str, ok: bool, needed: bool
) -> None:
    monkeypatch.setattr(doctor, "isolation", lambda: SimpleNamespace(level=level, sentence="so"))
    found = doctor._isolation(parse_config({"sandbox": {"require": require}}))
    assert (found.ok, found.value, found.needed) == (ok, "so", needed)
    assert doctor._isolation(None).ok is (level != "process")


def test_commands_that_tasks_and_trainers_need_are_told_with_who_needs_them() -> None:
    here, absent = (
        Requirement(kind="command", name=name, hint=f"get {name}") for name in ("sh", "nothing-of-this-name")
    )
    package = Requirement(kind="module", name="zzz", hint="x")
    specs: Any = {"s:a": SimpleNamespace(requires=(here, package)), "s:b": SimpleNamespace(requires=(absent, here))}
    trainers: Any = {"T": SimpleNamespace(requires=(absent,))}
    origin = {("task", "s:a"): "one", ("task", "s:b"): "two", ("trainer", "T"): "one"}
    catalog = SimpleNamespace(tasks=specs, trainers=trainers, origin=origin)
    missing, found = doctor._commands(SimpleNamespace(catalog=lambda: catalog))  # type: ignore[arg-type]
    assert (missing.name, missing.ok, missing.value, missing.hint) == (
        "command nothing-of-this-name", False, "not found, for one, two", "get nothing-of-this-name",
    )  # fmt: skip
    assert (found.name, found.ok, found.hint) == ("command sh", True, "get sh")
    assert found.value.endswith("/sh, for one, two")


class Left:
    """A budget with so much left."""

    def __init__(self, used: BudgetState | None = None, **left: float) -> None:
        self._used, self._left = used or BudgetState(), left

    def used(self) -> BudgetState:
        return self._used

    def remaining(self, axis: str) -> float | None:
        return self._left.get(axis)


def most_at_once(budget: Left, tasks: int, most: int, *, awaited: int) -> int:
    """Return how many tasks were under way at a time; each ends a moment after as many as awaited have been."""
    lock, enough = threading.Lock(), threading.Event()
    under_way, peak = 0, 0

    def task() -> int:
        nonlocal under_way, peak
        with lock:
            under_way += 1
            peak = max(peak, under_way)
            if peak >= awaited:
                enough.set()
        enough.wait(60.0)
        time.sleep(0.01)  # for one more that should not be
        with lock:
            under_way -= 1
        return peak

    assert len(Sections(budget).run([task] * tasks, most=most)) == tasks  # type: ignore[arg-type]  # as much as is asked of it
    return peak


@pytest.mark.parametrize(
    ("budget", "tasks", "most", "at_once"),
    [
        (Left(), 3, 3, 3), (Left(), 3, 2, 2), (Left(), 3, 1, 1), (Left(), 1, 3, 1),
        (Left(llm_calls=6), 3, 3, 3), (Left(llm_calls=5), 3, 3, 1),
        (Left(usd=100.0), 3, 3, 1), (Left(BudgetState(llm_calls=2, usd=1.0), usd=3.0), 3, 3, 3),
        (Left(BudgetState(llm_calls=2, usd=1.0), usd=2.9), 3, 3, 1),
        (Left(BudgetState(llm_calls=4, tokens=40), tokens=60), 3, 3, 3), (Left(BudgetState(llm_calls=4, tokens=40), tokens=59), 3, 3, 1),
    ],
)  # fmt: skip
def test_tasks_run_side_by_side_while_caps_leave_twice_what_they_would_use(
    budget: Left, tasks: int, most: int, at_once: int
) -> None:
    assert most_at_once(budget, tasks, most, awaited=at_once) == at_once


def test_the_first_error_in_the_order_of_tasks_is_raised_and_a_spent_budget_ends_a_section() -> None:
    ran: list[int] = []

    def doing(number: int, error: BaseException | None = None) -> Callable[[], int]:
        def task() -> int:
            ran.append(number)
            if error is not None:
                raise error
            return number

        return task

    assert Sections(Left()).run([doing(i) for i in range(3)], most=3) == [0, 1, 2]  # type: ignore[arg-type]
    for most, spent, expected in ((1, False, [0, 1, 2]), (1, True, [0, 1]), (3, True, [0, 1, 2])):
        ran.clear()
        first: BaseException = BudgetExhausted("usd") if spent else ModelError("first", kind="server")
        with pytest.raises(type(first)) as caught:
            Sections(Left()).run([doing(0), doing(1, first), doing(2, ValueError("second"))], most=most)  # type: ignore[arg-type]
        assert (caught.value, sorted(ran)) == (first, expected)
