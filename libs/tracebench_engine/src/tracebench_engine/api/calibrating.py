"""Measure the cases of known outcome that tasks offer, and keep what this machine saw."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, get_args

from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import CalibrationKind, CaseVerdict, PluginsConfig, TaskSpec
from tracebench_engine.checks.calibration.record import Standing, keep, standing
from tracebench_engine.checks.trial import Cases, Trials
from tracebench_engine.matrix.settings import resolve_options

__all__ = [
    "SUMMARY",
    "Calibrated",
    "Standing",
    "by_suite",
    "calibrate",
    "chosen_tasks",
    "default_options",
    "kinds_table",
    "recall",
    "standing",
    "summary_row",
]

SECONDS = 900.0
"""How long the cases of one task may take, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What came of one task's cases."""

    task: str
    verdicts: tuple[CaseVerdict, ...] = ()
    state: Literal["measured", "without", "skipped", "failed", "unknown"] = "measured"
    """`without`: it offers no case; `skipped`: it cannot be measured here; `failed`: it or its cases are broken; `unknown`: it was not
    measured on this machine yet, or by another judge."""
    why: str = ""
    kept: bool = True
    """Whether what was seen could be written down."""


def calibrate(
    host: PluginHost,
    names: Sequence[str] = (),
    *,
    kinds: Collection[CalibrationKind] = (),
    root: Path | None = None,
    seed: int = 0,
    seconds: float = SECONDS,
    timed: bool = True,
    at_once: int = 1,
    tell: Callable[[str, str], None] = lambda _task, _case: None,
) -> Iterator[Calibrated]:
    """Yield what comes of each task's cases, of some kinds or all; `names` are tasks, groups, suites or plugins, without any all tasks.

    They are measured in processes of their own, of `at_once` tasks at a time, so that a task which ends its process or hangs costs itself
    alone; one may take `seconds`. A task whose score is a time is measured while no other is, or not at all without `timed`. What was seen
    is kept before it is yielded. `root` is where the host's local tasks are, and `tell` hears task and case before a case is measured.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    chosen = chosen_tasks(host, names)
    at_once = max(1, min(at_once, len(chosen)))
    opened = [Trials(root=root, plugins=PluginsConfig(), seconds=seconds) for _ in range(at_once)]
    idle = SimpleQueue[Trials]()
    for trials in opened:
        idle.put(trials)

    def measure(task_id: str) -> Cases:
        trials = idle.get()
        try:
            return trials.calibrate(task_id, {}, kinds=kinds, seed=seed, tell=partial(tell, task_id))
        finally:
            idle.put(trials)

    left_out = {id_: why for id_, spec in chosen.items() if (why := _left_out(host, id_, spec, timed=timed))}
    crew = ThreadPoolExecutor(at_once)
    try:
        beside = [id_ for id_, spec in chosen.items() if at_once > 1 and not (id_ in left_out or spec.timed)]
        found = {id_: crew.submit(measure, id_) for id_ in beside}
        for task_id in sorted(chosen, key=lambda id_: at_once > 1 and chosen[id_].timed):
            if task_id in left_out:
                yield Calibrated(task_id, state="skipped", why=left_out[task_id])
            else:
                cases = found[task_id].result() if task_id in found else measure(task_id)
                yield _kept(host, task_id, chosen[task_id], cases, whole=not kinds)
    finally:
        crew.shutdown(wait=False, cancel_futures=True)
        for trials in opened:
            trials.close()


def _left_out(host: PluginHost, task_id: str, spec: TaskSpec, *, timed: bool) -> str:
    """Return why a task is not measured; nothing where it is."""
    if reason := Catalog.availability(spec):
        return _unavailable(reason, _standing(host, task_id, spec))
    return "its score is a time, and such tasks were left out" if spec.timed and not timed else ""


def recall(
    host: PluginHost, names: Sequence[str] = (), *, kinds: Collection[CalibrationKind] = ()
) -> Iterator[Calibrated]:
    """Yield what this machine saw last of each task's cases, by the judge that is installed now; nothing is measured.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    for task_id, spec in chosen_tasks(host, names).items():
        found = _standing(host, task_id, spec)
        verdicts = () if found.entry is None else found.entry.verdicts
        chosen = tuple(verdict for verdict in verdicts if not kinds or verdict.kind in kinds)
        if found.entry is not None and found.place == "here":
            yield Calibrated(task_id, chosen, state="measured" if chosen else "without")
        elif reason := Catalog.availability(spec):
            yield Calibrated(task_id, state="skipped", why=_unavailable(reason, found))
        else:
            why = found.changed or "it was not measured here by the judge that is installed"
            yield Calibrated(task_id, state="unknown", why=why)


def default_options(task_id: str, spec: TaskSpec) -> dict[str, Any]:
    """Return the options of a job whose config gives none: what was seen is kept under these, and a run looks for it there."""
    try:
        return resolve_options(spec, task_id=task_id, shared={}, own={}, where=f"`{task_id}`")
    except TraceBenchError:  # its options cannot be loaded, or one has to be given
        return {}


def _standing(host: PluginHost, task_id: str, spec: TaskSpec) -> Standing:
    return standing(host, task_id, spec, default_options(task_id, spec))


def _unavailable(reason: str, found: Standing) -> str:
    return f"{reason}; {found.words}"


def chosen_tasks(host: PluginHost, names: Sequence[str]) -> dict[str, TaskSpec]:
    """Return the tasks that names mean, by full id; those that have nothing to train are left out."""
    if names:
        suites = {*host.records, *(other for spec in host.catalog().suites.values() for other in spec.aliases)}
        ids = [id_ for name in names for id_ in _meant(host, name, suites)]
    else:
        every = host.catalog()
        ids = [id_ for id_ in every.tasks if id_ not in every.excluded]
    return {id_: spec for id_ in dict.fromkeys(ids) if (spec := host.task(id_)).trainable}


def _meant(host: PluginHost, name: str, suites: Collection[str]) -> list[str]:
    if name in suites:
        return resolve_task_ids(host, f"{name}:all")
    try:
        return resolve_task_ids(host, name)
    except UsageError as err:
        if ":" in name or not (near := did_you_mean(name, suites)):
            raise
        raise UsageError(f"There is no task, suite or plugin `{name}`.{near}", hint=err.hint) from err


def _kept(host: PluginHost, task_id: str, spec: TaskSpec, found: Cases, *, whole: bool) -> Calibrated:
    """Keep what was seen; that a task offers no case is known where all kinds were asked for."""
    if found.state != "measured":
        why = _unavailable(found.why, _standing(host, task_id, spec)) if found.state == "skipped" else found.why
        return Calibrated(task_id, state=found.state, why=why)
    kept = (
        keep(host, task_id, spec, default_options(task_id, spec), found.verdicts) if found.verdicts or whole else True
    )
    return Calibrated(task_id, found.verdicts, state="measured" if found.verdicts else "without", kept=kept)


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
