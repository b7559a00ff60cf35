"""`calibrate`: measure the cases whose outcome is known, and say whether the tasks measure rightly on this machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from tracebench_core.errors import NothingSelectedError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Root

if TYPE_CHECKING:
    from tracebench_engine.api.calibrating import Calibrated

FAILED = 1
LEVELS = {"passed": "OK", "failed": "FAIL", "noisy": "NOISE", "skipped": "SKIP"}
NAMED = 3
"""Tasks that a note names of many."""


def calibrate(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK|SUITE|PLUGIN", help="What to calibrate; without one, all that is installed."),
    ] = None,
    *,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Only cases of this kind; may be given again.")
    ] = None,
    no_timed: Annotated[
        bool, typer.Option("--no-timed", help="Leave out tasks whose score is a time, which a busy machine spoils.")
    ] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Measure nothing: show what was measured last on this machine.")
    ] = False,
    table: Annotated[bool, typer.Option("--table", help="Print a Markdown table for each suite.")] = False,
    task_timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="How long the cases of one task may take.")
    ] = 900.0,
    at_once: Annotated[
        int, typer.Option(min=1, metavar="N", help="Tasks at a time; one whose score is a time is always alone.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the evaluations.")] = 0,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Check that tasks score known cases rightly here. Prints a line for each; exits 1 when one does not pass."""
    from tracebench_engine.api import open_host
    from tracebench_engine.api.calibrating import calibrate as measure
    from tracebench_engine.api.calibrating import recall

    kinds, host = _kinds(kind or []), open_host(root=root)
    if kept:
        found = recall(host, names or (), kinds=kinds)
    else:
        found = measure(
            host,
            names or (),
            kinds=kinds,
            root=root,
            seed=seed,
            seconds=task_timeout,
            timed=not no_timed,
            at_once=at_once,
            tell=_tell,
        )
    done: list[Calibrated] = []
    try:
        for task in found:
            done.append(task)
            if not (as_json or table):
                _print(task)
    except KeyboardInterrupt:
        if done and not as_json:
            _sum_up(done, as_table=table)
            tasks = "1 task" if len(done) == 1 else f"{len(done)} tasks"
            output.note(f"What {tasks} came to is kept; the others were not measured.")
        raise
    counts = Counter(row["result"] for task in done for row in _rows(task))
    bad = counts["failed"] + counts["noisy"]
    if as_json:
        _document(done, ok=not bad)
    else:
        _sum_up(done, as_table=table)
    _conclude(done, counts)
    if bad:
        raise typer.Exit(FAILED)


def _document(done: Sequence[Calibrated], *, ok: bool) -> None:
    from tracebench_engine.api.calibrating import SUMMARY, by_suite, summary_row

    output.document(
        "calibration",
        ok=ok,
        cases=[row for task in done for row in _rows(task)],
        without_cases=[task.task for task in done if task.state == "without"],
        suites=[
            {
                name.replace(" ", "_"): int(cell) if name != "suite" else cell
                for name, cell in zip(SUMMARY, row, strict=True)
            }
            for suite, tasks in by_suite(done).items()
            for row in [summary_row(suite, tasks)]
        ],
    )


def _sum_up(done: Sequence[Calibrated], *, as_table: bool) -> None:
    """Print a table of kinds for each suite, or a line for each of several."""
    from tracebench_engine.api.calibrating import SUMMARY, by_suite, kinds_table, summary_row

    suites = by_suite(done)
    if as_table:
        for suite, tasks in suites.items():
            output.line(
                output.safe(f"## {suite}\n\n{kinds_table(tasks)}" if len(suites) > 1 else kinds_table(tasks).rstrip())
            )
    elif len(suites) > 1:
        output.line("")
        output.table(SUMMARY, [summary_row(suite, tasks) for suite, tasks in suites.items()])


def _kinds(written: list[str]) -> list[Any]:
    from tracebench_core.ids import did_you_mean
    from tracebench_core.specs import CalibrationKind

    known = get_args(CalibrationKind)
    for name in written:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f"There is no kind of calibration `{name}`.{near}", hint=f"--kind {'|'.join(known)}")
    return written


def _tell(task: str, case: str) -> None:
    """Say on a terminal what is being measured."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{output.safe(task)}: {output.safe(case)}\r")
        sys.stderr.flush()


def _rows(task: Calibrated) -> list[dict[str, Any]]:
    if task.state in {"skipped", "failed", "unknown"}:
        result = "failed" if task.state == "failed" else "skipped"
        return [{"task": task.task, "case": None, "result": result, "why": task.why}]
    return [{"task": task.task, **verdict.model_dump(mode="json")} for verdict in task.verdicts]


def _print(task: Calibrated) -> None:
    for row in _rows(task):
        words = task.task
        if row["case"] is not None:
            words += f"  {row['case']} ({row['kind']}): expected {row['expected']}, seen {row['seen']}"
        why = f": {row['why']}" if row["why"] else ""
        output.line(output.safe(output.flat(f"[{LEVELS[row['result']]}] {words}{why}")))
    if not task.kept:
        output.note("What was seen cannot be kept: the folder `trace-bench` in `$XDG_STATE_HOME` cannot be written to.")


def _conclude(done: Sequence[Calibrated], counts: Counter[str]) -> None:
    """Say how many cases there were of each outcome, and which tasks have none.

    Raises:
        NothingSelectedError: none of the tasks has a case.
    """
    without = [task.task for task in done if task.state == "without"]
    named = ", ".join(f"`{id_}`" for id_ in without[:NAMED]) + (" …" if len(without) > NAMED else "")
    if not counts:
        raise NothingSelectedError(
            f"There is no calibration to make: {named or 'no task is offered'}.",
            hint="trace-bench calibrate internal",
        )
    if without:
        output.note(f"{len(without)} of {len(done)} tasks have none: {named}")
    output.note(
        f"{counts.total()} case{'s' if counts.total() > 1 else ''}: {', '.join(f'{counts[r]} {r}' for r in LEVELS if counts[r])}."
    )
