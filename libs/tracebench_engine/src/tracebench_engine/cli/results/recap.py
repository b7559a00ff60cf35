"""`recap`: a finished run as if its caps or prices had been different; no model, no plugin and no engine needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_to_read
from tracebench_engine.api.console.options import (
    AsJson,
    Columns,
    MaxCalls,
    MaxEvaluations,
    MaxSeconds,
    MaxTokens,
    MaxUsd,
    RunsDir,
    budget_of,
)
from tracebench_engine.api.console.tables import chosen

if TYPE_CHECKING:
    from tracebench_core.specs import JobSpec
    from tracebench_engine.api.judging.recaps import Recap, RunRecap, Standing
    from tracebench_engine.api.records import Run

COLUMNS = (
    "job", "task", "trainer", "seed", "status", "ends by", "best so far", "validation", "test", "evaluations", "calls", "tokens",
    "usd", "seconds",
)  # fmt: skip
LEAST = ("tokens", "calls", "usd", "seconds", "evaluations", "best so far", "seed")
"""What a narrow terminal leaves out first."""
BOARD = ("rank", "task", "trainer", "params", "measured on", "n", "mean", "ci95", "jobs")


def recap(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    max_evaluations: MaxEvaluations = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    max_seconds: MaxSeconds = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML: model, then USD per million `prompt`, `completion`, `cached` tokens."),
    ] = None,
    columns: Columns = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a run as if its caps or prices had been different. Nothing is run: it is read from the run's events.

    Best so far is what the trainer had measured by then. Validation and test are `unknown` where a finalist at the cap was never scored.
    """
    from tracebench_engine.api.configs import load_prices
    from tracebench_engine.api.installed.hosting import find_aggregate
    from tracebench_engine.api.judging.recaps import recap_run
    from tracebench_engine.api.records import load_run

    shown = chosen(columns, COLUMNS, BOARD)
    caps = budget_of(
        evaluations=max_evaluations, llm_calls=max_calls, tokens=max_tokens, usd=max_usd, seconds=max_seconds
    )
    run = load_run(find_to_read(name, runs_dir=runs_dir))
    found = recap_run(run, caps=caps, prices=load_prices(prices) if prices is not None else {}, find=find_aggregate)
    if as_json:
        output.document(
            "recap",
            run_id=run.run_id,
            caps=caps.model_dump(exclude_none=True),
            jobs=[_job_json(job, found.jobs[job.job_id]) for job in run.planned if job.job_id in found.jobs],
            leaderboard=[_standing_json(standing) for standing in found.standings],
        )
        return
    _print(run, found, columns=shown)


def _print(run: Run, found: RunRecap, *, columns: Sequence[str] | None) -> None:
    jobs = [_row(job, run, found) for job in run.planned if job.job_id in found.jobs]
    output.table(COLUMNS, jobs, columns=columns, least=LEAST)
    output.line("")
    output.table(
        BOARD,
        [_board_row(standing) for standing in found.standings],
        columns=columns,
        least=("measured on", "jobs", "params"),
    )
    if beyond := [job_id for job_id, recap in found.jobs.items() if recap.beyond is not None]:
        output.note(
            f"{len(beyond)} jobs were ended by their own budget before the cap asked for: what they had done with more is not known."
        )
    if truncated := sum(recap.truncated for recap in found.jobs.values()):
        output.note(
            f"{truncated} jobs are truncated, not re-run: their trainers read the budget, and may do otherwise under another."
        )
    if left_out := len(run.planned) - len(found.jobs):
        output.note(f"{left_out} jobs were never run and are left out.")


def _row(job: JobSpec, run: Run, found: RunRecap) -> tuple[str, ...]:
    recap = found.jobs[job.job_id]
    used = recap.used
    has_test = run.results[job.job_id].score_test_initial is not None
    return (
        job.job_id,
        job.task_id,
        job.called,
        str(job.seed),
        recap.status,
        recap.cut_by or "-",
        output.number(recap.best_so_far),
        _known(recap.score_val),
        _known(recap.score_test) if has_test else "-",
        str(used.evaluations),
        str(used.llm_calls),
        str(used.tokens),
        "unknown" if used.usd is None else output.number(used.usd),
        f"{used.seconds:.2f}",
    )


def _board_row(standing: Standing) -> tuple[str, ...]:
    interval = standing.interval
    return (
        "-" if standing.rank is None else str(standing.rank),
        standing.group.task.task_id,
        standing.group.label or standing.group.trainer_id,
        standing.group.params if standing.group.params != "{}" else "",
        standing.measure,
        str(len(standing.scores)),
        output.number(standing.mean),
        "-" if interval is None else f"{interval[0]:.6g} to {interval[1]:.6g}",
        str(standing.jobs),
    )


def _known(score: float | None) -> str:
    return "unknown" if score is None else output.number(score)


def _job_json(job: JobSpec, recap: Recap) -> dict[str, Any]:
    fields = asdict(recap)
    fields["used"] = recap.used.model_dump()
    return {
        "job_id": job.job_id,
        "task_id": job.task_id,
        "trainer_id": job.trainer_id,
        "label": job.label,
        "seed": job.seed,
        **fields,
    }


def _standing_json(standing: Standing) -> dict[str, Any]:
    group = standing.group
    interval = standing.interval
    return {
        "rank": standing.rank,
        **group.task._asdict(),
        "trainer_id": group.trainer_id,
        "label": group.label,
        "params": group.params,
        "optimizer": group.optimizer,
        "measured_on": standing.measure,
        "n": len(standing.scores),
        "mean": standing.mean,
        "ci95": None if interval is None else list(interval),
        "jobs": standing.jobs,
    }
