"""What came of calibrations, counted: a line for each suite, and for one suite a table of its kinds of cases as Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import get_args

from tracebench_core.specs import CalibrationKind, CaseVerdict
from tracebench_engine.api.calibrating import Calibrated

RESULTS = ("passed", "failed", "noisy", "skipped")
HEAD = ("kind", "tasks", "cases", "came out", "one of them")
SUMMARY = ("suite", "tasks", *RESULTS, "without cases", "not measured", "broken")
NOT_MEASURED = "not measured here"
WITHOUT = "without cases"
BROKEN = "broken"
LONGEST = 160
"""Characters of a cell that a case or a reason fills."""


def by_suite(tasks: Sequence[Calibrated]) -> dict[str, list[Calibrated]]:
    """Return the tasks of each suite, in their order."""
    found: dict[str, list[Calibrated]] = defaultdict(list)
    for task in tasks:
        found[task.task.partition(":")[0]].append(task)
    return dict(found)


def summary_row(suite: str, tasks: Sequence[Calibrated]) -> tuple[str, ...]:
    """Return a suite's line: its tasks, its cases by result, and the tasks that have no verdict, by why."""
    results: Counter[str] = Counter(verdict.result for task in tasks for verdict in task.verdicts)
    states = Counter(task.state for task in tasks)
    counts = [*(results[result] for result in RESULTS), states["without"], states["skipped"] + states["unknown"]]
    return (suite, str(len(tasks)), *map(str, counts), str(states["failed"]))


def kinds_table(tasks: Sequence[Calibrated]) -> str:
    """Return a suite's table: a row for each kind of case, and for tasks that were not measured."""
    rows = [HEAD, *_rows(tasks)]
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(HEAD), *lines[1:]]) + "\n"


def _rows(tasks: Sequence[Calibrated]) -> Iterator[tuple[str, ...]]:
    for kind in get_args(CalibrationKind):
        cases = [(task.task, verdict) for task in tasks for verdict in task.verdicts if verdict.kind == kind]
        if cases:
            counts: Counter[str] = Counter(verdict.result for _, verdict in cases)
            told = ", ".join(f"{counts[result]} {result}" for result in RESULTS if counts[result])
            yield f"`{kind}`", str(len({id_ for id_, _ in cases})), str(len(cases)), told, _told(*_worst(cases))
    groups = {WITHOUT: ("without",), NOT_MEASURED: ("skipped", "unknown"), BROKEN: ("failed",)}
    for words, states in groups.items():
        if some := [task for task in tasks if task.state in states]:
            first = f"`{some[0].task}`" + (f": {some[0].why}" if some[0].why else "")
            yield words, str(len(some)), "", "", first[:LONGEST]


def _worst(cases: Sequence[tuple[str, CaseVerdict]]) -> tuple[str, CaseVerdict]:
    """Return the case to show: the first that did not come out, else the first."""
    return next((case for case in cases if case[1].result != "passed"), cases[0])


def _told(task: str, verdict: CaseVerdict) -> str:
    return f"`{task}`, {verdict.case}: expected {verdict.expected}, seen {verdict.seen}"[:LONGEST]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
