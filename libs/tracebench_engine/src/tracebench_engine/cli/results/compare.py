"""`compare`: which trainer is better, by how much, how sure it is, and what would decide what is open."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracebench_core.errors import GateError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_to_read
from tracebench_engine.api.console.options import AsJson, Columns, RunsDir
from tracebench_engine.api.console.tables import chosen
from tracebench_engine.cli.results import standings
from tracebench_engine.cli.results.compare_logs import compare_others
from tracebench_engine.cli.results.evaluated import SCORE, is_evaluated, show_evaluated
from tracebench_engine.cli.results.standings import interval_text, probability_text, summary_table

if TYPE_CHECKING:
    from tracebench_engine.api.judging.comparing import Comparison
    from tracebench_engine.api.records import Run

AxisName = Literal["evaluations", "llm_calls", "tokens", "usd", "seconds"]
PAIRS = ("one", "other", "verdict", "difference", "95 %", "p (Holm)", "P(better)", "pairs", "resolves", "other tasks")
TASKS = ("task", "measure", "entrant", "mean", "95 %", "n", "verdict")
SHOWN_CHANGES = 10


def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…", help="Runs: directories, or ids in `--runs-dir`. Several are pooled. Else logs: see below."
        ),
    ],
    *,
    runs_dir: RunsDir = None,
    is_inspect: Annotated[
        bool, typer.Option("--inspect", help="The names are logs of inspect_ai (`.eval`, `.json`), one per model.")
    ] = False,
    is_lm_eval: Annotated[
        bool,
        typer.Option(
            "--lm-eval",
            help="The names are samples of lm-evaluation-harness (`samples_….jsonl`), or folders, one per model.",
        ),
    ] = False,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which scorer or filter to compare by, where logs have several.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Field of a log's questions that says which belong together."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Compare each with this trainer, or with this one of the runs: regressions first."
        ),
    ] = None,
    axis: Annotated[AxisName, typer.Option(help="The axis on which use is compared and cut.")] = "evaluations",
    at: Annotated[float | None, typer.Option(metavar="N", min=0, help="Cut every job at N on `--axis`.")] = None,
    failures: Annotated[
        Literal["initial", "worst", "exclude"],
        typer.Option(help="What a failed job counts as: its task's initial score, its lowest score, or nothing."),
    ] = "initial",
    most_seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            max=10_000,
            help="For a design that adds seeds until the comparison is decided, N at most: you may look as often as you like.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="D",
            help="A difference that does not matter, in the units of the pairs: within it the verdict is `equivalent`.",
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"A > B"',
            help="Exit with 4 unless A is resolved better than B; `A ~ B`: within --margin of B. May be repeated.",
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the standings as CSV.")] = False,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    """Compare trainers over runs: who is better, how sure. Shows intervals, the noise floor, and what is not resolved. Also compares
    models over other programs' logs."""
    if is_inspect or is_lm_eval:
        _refuse_for_logs(
            {
                "--inspect beside --lm-eval": is_inspect and is_lm_eval,
                "--runs-dir": runs_dir is not None,
                "--baseline": baseline is not None,
                "--axis": axis != "evaluations",
                "--at": at is not None,
                "--failures": failures != "initial",
                "--most-seeds": most_seeds is not None,
                "--margin": margin is not None,
                "--gate": bool(gate),
                "--csv": as_csv,
            }
        )
        compare_others(
            names,
            kind="inspect" if is_inspect else "lm_eval",
            metric=metric,
            cluster=cluster,
            columns=columns,
            as_json=as_json,
        )
        return
    if cluster is not None:
        raise UsageError("`--cluster` is of logs.", hint="trace-bench compare --inspect one.eval other.eval")
    from tracebench_engine.api.installed.hosting import find_aggregate
    from tracebench_engine.api.judging.comparing import compare_runs, is_met, parse_gate
    from tracebench_engine.api.records import load_run

    gates = [parse_gate(text) for text in gate or ()]
    runs = [load_run(find_to_read(name, runs_dir=runs_dir)) for name in dict.fromkeys(names)]
    if len(runs) == 1 and is_evaluated(runs[0]) and not gates and not as_csv:
        show_evaluated(runs[0], metric=metric or SCORE, columns=columns, as_json=as_json)
        return
    if metric is not None:
        raise UsageError("`--metric` is of logs and of runs of `evaluate`.", hint=output.command("compare", *names))
    shown = chosen(columns, standings.COLUMNS, PAIRS, TASKS)
    found = compare_runs(
        runs,
        baseline=baseline,
        axis=axis,
        at=at,
        policy=failures,
        most_seeds=most_seeds,
        margin=margin,
        find=find_aggregate,
    )
    missed = [str(g) for g in gates if not is_met(g, found)]
    if as_json:
        _print_json(found, missed)
    elif as_csv:
        _print_csv(found)
    else:
        _print(found, runs, axis, columns=shown)
        for sentence in standings.self_reported(runs):
            output.prose(sentence)
    if missed:
        raise GateError(f"Gate not met: {'; '.join(missed)}.")


def _refuse_for_logs(of_runs: Mapping[str, bool]) -> None:
    """Raise UsageError for options that are of runs alone."""
    if refused := [name for name, is_given in of_runs.items() if is_given]:
        raise UsageError(
            f"Logs are not compared with {', '.join(f'`{name}`' for name in refused)}.",
            hint="trace-bench compare --inspect one.eval other.eval",
        )


def _print_json(found: Comparison, missed: list[str]) -> None:
    from tracebench_engine.api.judging.comparing import comparison_data

    output.document("comparison", **comparison_data(found), gates_missed=missed)


def _print_csv(found: Comparison) -> None:
    from tracebench_engine.api.judging.comparing import STANDING_COLUMNS, standing_rows

    writer = csv.DictWriter(sys.stdout, STANDING_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(standing_rows(found))


def _print(found: Comparison, runs: Sequence[Run], axis: AxisName, *, columns: Sequence[str] | None) -> None:
    from tracebench_engine.api.judging.comparing import hints, remarks, verdict_sentence, what_next

    if found.baseline is not None:
        _print_changes(found)
    output.prose(verdict_sentence(found), is_data=True)
    output.line("")
    summary_table(found, columns=columns)
    output.line("")
    _print_pairs(found, columns)
    output.line("")
    _print_tasks(found, columns)
    _print_floor(found)
    for remark in remarks(found, axis):
        output.prose(remark)
    if (step := what_next(found, runs)) is not None:
        output.prose(step)
    for hint in hints(found, runs):
        output.note(output.safe(hint))


def _print_changes(found: Comparison) -> None:
    regressions = [(task.task, pair) for task in found.tasks for pair in task.pairs if pair.verdict == "worse"]
    worse = [change for change in found.changes if change.is_worse]
    better = [change for change in found.changes if not change.is_worse]
    output.line(f"{len(regressions)} regressions resolved; {len(worse)} jobs turned worse, {len(better)} turned better")
    if regressions:
        output.table(
            ("regression on", "entrant", "difference", "95 %", "p"),
            [
                (task, p.one, *interval_text(p.difference.interval), probability_text(p.adjusted))
                for task, p in regressions
            ],
        )
    if shown := [*worse, *better][:SHOWN_CHANGES]:
        output.table(("task", "entrant", "seed", "change"), [(c.task, c.entrant, str(c.seed), c.what) for c in shown])
    if (left := len(found.changes) - SHOWN_CHANGES) > 0:
        output.note(f"{left} more changes: see `--json`.")
    output.line("")


def _print_pairs(found: Comparison, columns: Sequence[str] | None) -> None:
    output.table(
        PAIRS,
        [
            (
                pair.one,
                pair.other,
                pair.verdict,
                *interval_text(pair.difference.interval),
                probability_text(pair.adjusted),
                probability_text(pair.improvement),
                str(pair.difference.paired),
                output.number(pair.resolution.smallest if pair.resolution else None),
                "unknown" if pair.difference.elsewhere.low is None else interval_text(pair.difference.elsewhere)[1],
            )
            for pair in found.pairs
        ],
        columns=columns,
        least=("other tasks", "resolves", "P(better)", "pairs", "p (Holm)", "95 %"),
    )


def _print_tasks(found: Comparison, columns: Sequence[str] | None) -> None:
    rows = []
    for task in found.tasks:
        for position, standing in enumerate(task.standings, start=1):
            mean, interval = interval_text(standing.interval)
            said = (
                "winner"
                if task.winner == standing.entrant
                else "not resolved"
                if position == 1 and task.winner is None and standing.interval is not None
                else ""
            )
            n = f"{standing.counted}/{standing.jobs}"
            rows.append((task.task, task.measure, standing.entrant, mean, interval, n, said))
    output.table(TASKS, rows, columns=columns, least=("measure", "n"))


def _print_floor(found: Comparison) -> None:
    if found.floor.split is not None:
        output.prose(
            f"Noise floor: two equal trainers come out up to {found.floor.split:.3g} apart (95 % of A/A splits)."
        )
    for name, band in found.floor.bands.items():
        mean, interval = interval_text(band)
        output.note(f"Floor by {name}: {mean} ({interval}).")
