"""Given candidates that a run measured, as tables: each with its error, each pair by what it answered, and what it took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracebench_engine.api.console import output
from tracebench_engine.api.console.tables import chosen
from tracebench_engine.cli.results.compare_logs import PAIRS, print_pairs

if TYPE_CHECKING:
    from tracebench_engine.api.given import GivenCandidate
    from tracebench_engine.api.judging.logs import LogComparison, Standing
    from tracebench_engine.api.records import Run

COLUMNS = ("file", "score", "SE", "95 %", "questions", "rows", "no score", "calls", "tokens", "usd", "seconds")

SCORE = "score"


def is_evaluated(run: Run) -> bool:
    """Tell whether a run measures given candidates and optimises nothing."""
    from tracebench_engine.api.records import iter_job_lines
    from tracebench_engine.api.verdicts import GIVEN

    if GIVEN.encode() not in next(iter(iter_job_lines(run.layout)), b""):  # of most runs, no further job need be read
        return False
    return all(job.trainer_id == GIVEN for job in run.planned)


def show_evaluated(run: Run, *, metric: str, columns: str | None = None, as_json: bool) -> None:
    """Print a run's given candidates as tables, with those `columns` that are named, or as JSON.

    Raises:
        UsageError: no row has such a metric, or no table such columns.
    """
    if as_json:
        output.document("evaluation_run", **evaluated_data(run, metric=metric))
    else:
        print_evaluated(run, metric=metric, columns=chosen(columns, COLUMNS, PAIRS))


def print_evaluated(run: Run, *, metric: str, columns: Sequence[str] | None = None) -> None:
    """Print a run's given candidates, best first, and each pair of them.

    Raises:
        UsageError: no row has such a metric.
    """
    from tracebench_engine.api.given import compare_given, given_candidates
    from tracebench_engine.api.judging.logs import log_sentences

    candidates = given_candidates(run)
    found = compare_given(candidates, metric=metric)
    output.table(
        COLUMNS,
        [_row(candidate, standing) for candidate, standing in _ordered(candidates, found)],
        columns=columns,
        least=("no score", "tokens", "calls", "rows"),
    )
    if found is not None and found.pairs:
        output.line("")
        for sentence in log_sentences(found):
            output.prose(sentence, is_data=True)
        print_pairs(found, columns)
    for candidate in candidates:
        if candidate.missing:
            output.prose(f"`{candidate.log.label}` is not complete: {candidate.missing}.")
    for remark in found.remarks if found is not None else ():
        output.prose(remark)
    job = next((candidate.jobs[0] for candidate in candidates if candidate.log.rows), None)
    if job is not None:
        output.note(f"One row:  {output.command('show', run.layout.job(job).path, '--evaluation', 1)}")


def evaluated_data(run: Run, *, metric: str) -> dict[str, Any]:
    """Return the same as JSON data; what is not known is null."""
    from tracebench_engine.api.given import compare_given, given_candidates
    from tracebench_engine.api.judging.logs import log_data

    candidates = given_candidates(run)
    found = compare_given(candidates, metric=metric)
    told = log_data(found) if found is not None else {"metric": metric, "pairs": [], "remarks": []}
    return {
        "run_dir": str(run.layout.path),
        "metric": told["metric"],
        "candidates": [
            {
                "label": candidate.log.label,
                "score": standing.mean if standing is not None else None,
                "standard_error": standing.clustered if standing is not None else None,
                "questions": len(standing.table.scores) if standing is not None else 0,
                "rows": len(candidate.log.rows),
                "rows_scored": standing.rows if standing is not None else 0,
                "jobs": [*candidate.jobs],
                "calls": candidate.took.llm_calls,
                "tokens": candidate.took.tokens,
                "usd": candidate.took.usd,
                "seconds": candidate.seconds,
                "missing": candidate.missing or None,
            }
            for candidate, standing in _ordered(candidates, found)
        ],
        "pairs": told["pairs"],
        "remarks": told["remarks"],
    }


def _ordered(
    candidates: Sequence[GivenCandidate], found: LogComparison | None
) -> list[tuple[GivenCandidate, Standing | None]]:
    """Return candidates with what they came to, best first; those without a score last."""
    standings = {s.table.log.label: s for s in found.standings} if found is not None else {}
    pairs = [(candidate, standings.get(candidate.log.label)) for candidate in candidates]
    return sorted(pairs, key=lambda pair: -pair[1].mean if pair[1] is not None else math.inf)


def _row(candidate: GivenCandidate, standing: Standing | None) -> tuple[str, ...]:
    took = candidate.took
    lost = len(candidate.log.rows) - (standing.rows if standing is not None else 0)
    return (
        candidate.log.label,
        output.number(standing.mean if standing is not None else None),
        output.number(standing.clustered if standing is not None else None),
        _interval(standing),
        str(len(standing.table.scores) if standing is not None else 0),
        str(len(candidate.log.rows)),
        str(lost),
        str(took.llm_calls),
        str(took.tokens),
        output.number(took.usd),
        f"{candidate.seconds:.1f}",
    )


def _interval(standing: Standing | None) -> str:
    interval = standing.interval if standing is not None else None
    if interval is None or interval.low is None or interval.high is None:
        return "-"
    return f"{output.number(interval.low)} to {output.number(interval.high)}"
