"""A run's given candidates as logs: the rows that the engine measured of each, and what they took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracebench_analysis.comparison.entrants import told_models
from tracebench_analysis.logs import GIVEN
from tracebench_analysis.logs.rows import Log, Row, listed
from tracebench_analysis.logs.versus import LogComparison, compare_logs
from tracebench_core import money
from tracebench_core.errors import UsageError
from tracebench_core.specs import BudgetState, JobResult, JobSpec
from tracebench_core.specs.events import DataKnown, EvaluationDone, Event, JobStarted, Scored
from tracebench_runs.reading.reader import Run

SCORE = "score"


@dataclass(frozen=True, slots=True)
class GivenCandidate:
    """One candidate of a run, over its seeds."""

    log: Log
    took: BudgetState
    """Model calls, tokens and money of all its seeds."""
    seconds: float
    """On the clock, of all its seeds one after another."""
    jobs: tuple[str, ...]
    missing: str
    """Why some of its rows are missing; empty where none is."""


def given_candidates(run: Run) -> list[GivenCandidate]:
    """Return a run's given candidates in the order of its config; none for a run that optimises."""
    jobs: dict[tuple[str, str], list[JobSpec]] = {}
    for job in run.planned:
        if job.trainer_id == GIVEN:
            jobs.setdefault((str(job.settings.get("name") or "(initial)"), told_models(job)), []).append(job)
    several = len({model for _, model in jobs}) > 1
    return [
        _candidate(run, f"{label}, {model}" if several else label, members) for (label, model), members in jobs.items()
    ]


def compare_given(candidates: Sequence[GivenCandidate], *, metric: str = SCORE) -> LogComparison | None:
    """Compare candidates question by question; a candidate without a score is left out, and None where none has one.

    Raises:
        UsageError: rows were measured, and none of them by this metric.
    """
    known = dict.fromkeys(name for c in candidates for name in c.log.metrics)
    if known and metric not in known:
        raise UsageError(
            f"No row has a metric `{metric}`; there are {listed(known)}.", hint=f"--metric {next(iter(known))}"
        )
    logs = [c.log for c in candidates if any(row.scores.get(metric) is not None for row in c.log.rows)]
    return compare_logs(logs, metric=metric, least=1) if logs else None


def _candidate(run: Run, label: str, jobs: Sequence[JobSpec]) -> GivenCandidate:
    rows: list[Row] = []
    missing: list[str] = []
    seconds = 0.0
    for job in jobs:
        events, result = run.events(job.job_id), run.results[job.job_id]
        found = _rows(job, events)
        rows += found
        seconds += _seconds(events)
        if result.status != "ok":
            missing.append(_why(job, result, len(found)))
    log = Log(run.layout.path, label, rows, frozenset(job.task_id for job in jobs))
    took = _sum(run.results[job.job_id].usage_selection for job in jobs)
    return GivenCandidate(log, took, seconds, tuple(job.job_id for job in jobs), "; ".join(missing))


def _rows(job: JobSpec, events: Iterable[Event]) -> list[Row]:
    """Return the rows of one seed; of a row that was measured again after an outage, the last."""
    found: dict[str, Row] = {}
    counts_failures = False
    shown = ""
    for event in events:
        match event:
            case JobStarted():
                counts_failures = event.worst_score is not None
            case EvaluationDone(by="engine"):
                shown = shown or event.candidate
                is_scored = event.status == "ok" or (counts_failures and event.status != "not_measured")
                scores = {SCORE: event.score if is_scored and math.isfinite(event.score) else None, **event.metrics}
                found[f"{event.candidate} {event.example}"] = Row(
                    task=job.task_id,
                    question=event.example,
                    epoch=job.seed,
                    scores=scores,
                    digest=None,
                    is_failed=event.status == "not_measured",
                )
            case Scored():
                shown = event.candidate
    return [row for name, row in found.items() if name.startswith(f"{shown} ")]


def _seconds(events: Sequence[Event]) -> float:
    """Return how long the engine measured: from when it knew its data to its last measurement, in each process that did."""
    total, begun = 0.0, None
    last = 0.0
    for event in events:
        if isinstance(event, DataKnown):
            total += 0.0 if begun is None else max(0.0, last - begun)
            begun = last = event.mono
        elif begun is not None and isinstance(event, EvaluationDone | Scored):
            last = max(last, event.mono)
    return total + (0.0 if begun is None else max(0.0, last - begun))


def _why(job: JobSpec, result: JobResult, rows: int) -> str:
    told = f": {result.error.message.strip().splitlines()[0]}" if result.error and result.error.message.strip() else ""
    return f"seed {job.seed} is `{result.status}` with {rows} rows{told}"


def _sum(states: Iterable[BudgetState]) -> BudgetState:
    every = list(states)
    known = [state.usd for state in every if state.usd is not None]
    return BudgetState(
        evaluations=sum(s.evaluations for s in every),
        llm_calls=sum(s.llm_calls for s in every),
        tokens=sum(s.tokens for s in every),
        usd=money.total(known) if len(known) == len(every) else None,
        seconds=math.fsum(s.seconds for s in every),
    )
