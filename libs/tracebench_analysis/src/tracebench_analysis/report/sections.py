"""The tables of a report as titles, headers and cells of text: HTML and Markdown lay the same ones out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_analysis.comparison.outcomes import unscored
from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.statistics.intervals import Interval
from tracebench_runs.reading.reader import Run

SHOWN_FAILURES = 50
_SCORE = "score: mean over the jobs, where 0 is the initial candidate and 1 the best score seen."
_WHOLE = 1000
"""From here on, an amount is told without a fraction."""


@dataclass(frozen=True, slots=True)
class Section:
    """One table."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def sections(runs: Sequence[Run], comparison: Comparison) -> list[Section]:
    """Return every table of a report, in order; those without a row are left out."""
    every = [
        _leaderboard(comparison), _gains(comparison), _pairs(comparison), *_tasks(comparison), _ran(runs), _instruments(runs),
        _failures(comparison),
    ]  # fmt: skip
    return [section for section in every if section.rows]


def _leaderboard(comparison: Comparison) -> Section:
    rows = []
    for summary in comparison.summaries:
        standing, use = summary.standing, summary.use
        amounts = (*map(amount, (use.evaluations, use.llm_calls, use.tokens)), number(use.usd), number(use.seconds))
        rows.append((
            standing.entrant, *interval_cells(standing.interval), *interval_cells(summary.iqm),
            summary.n, str(summary.failed), number(summary.gap), number(summary.rank), *amounts,
        ))  # fmt: skip
    floor = comparison.floor.split
    return Section(
        "Leaderboard",
        (
            "trainer",
            "score",
            "95 %",
            "IQM",
            "IQM 95 %",
            "n",
            "failed",
            "gap",
            "rank",
            "evaluations",
            "calls",
            "tokens",
            "USD",
            "seconds",
        ),
        tuple(rows),
        f"{_SCORE} 95 %: where that mean would lie with other seeds on these tasks. IQM: mean of the middle half of the scores. n: jobs "
        "with a score, of jobs. gap: how much better the chosen candidates were on the examples that chose them than on those held out. "
        "rank: mean rank over the tasks. Then what a job used, on average."
        + ("" if floor is None else f" Noise floor: equal trainers come out up to {floor:.3g} apart."),
    )


def brief_leaderboard(comparison: Comparison) -> Section:
    """Return the leaderboard in the columns that need the least explaining."""
    rows = [
        (
            summary.standing.entrant,
            *interval_cells(summary.standing.interval),
            summary.n,
            *map(amount, (summary.use.evaluations, summary.use.llm_calls, summary.use.tokens)),
        )
        for summary in comparison.summaries
    ]
    return Section(
        "Leaderboard",
        ("trainer", "score", "95 %", "jobs", "evaluations", "model calls", "tokens"),
        tuple(rows),
        f"{_SCORE} 95 %: where that mean would lie with other seeds. jobs: how many have a score, of how many. The last three are what a "
        "job used, on average.",
    )


def _gains(comparison: Comparison) -> Section:
    rows = [
        (
            s.standing.entrant,
            interval_cells(s.standing.interval)[0],
            *interval_cells(s.content),
            *interval_cells(s.form),
        )
        for s in comparison.summaries
        if s.content is not None
    ]
    return Section(
        "Form and content",
        ("trainer", "score", "content", "95 %", "form", "95 %"),
        tuple(rows),
        "What the score, a gain over the initial candidate, is made of in the jobs with a score. content: what an extractor that knew the "
        "right answer would get out of the outputs, and not out of the initial candidate's. form: what it would have got out of those.",
    )


def _pairs(comparison: Comparison) -> Section:
    rows = [
        (p.one, p.other, p.verdict, *interval_cells(p.difference.interval), number(p.adjusted), number(p.improvement),
         number(p.resolution.smallest if p.resolution else None),
         "unknown" if p.difference.elsewhere.low is None else interval_cells(p.difference.elsewhere)[1])
        for p in comparison.pairs
    ]  # fmt: skip
    headers = ("one", "other", "verdict", "difference", "95 %", "p (Holm)", "P(better)", "resolves", "other tasks")
    return Section(
        "Every pair",
        headers,
        tuple(rows),
        "Each pair by its own scores on the tasks that both have, paired by seed where both have it. Over several tasks in parts of what "
        "each task declares (target or bounds), else standardised.",
    )


def _tasks(comparison: Comparison) -> Iterator[Section]:
    for task in comparison.tasks:
        rows = [
            (
                s.entrant,
                *interval_cells(s.interval),
                f"{s.counted}/{s.jobs}",
                "winner" if s.entrant == task.winner else "",
            )
            for s in task.standings
        ]
        told = f"{task.winner} is better than each other trainer." if task.winner else "No winner is resolved."
        yield Section(task.task, ("trainer", task.measure, "95 %", "n", ""), tuple(rows), told)


def _ran(runs: Sequence[Run]) -> Section:
    rows = []
    for run in runs:
        first = run.planned[0] if run.planned else None
        versions: Mapping[str, Any] = run.manifest.get("versions", {})
        caps = ", ".join(f"{value:g} {axis}" for axis, value in first.budget.caps().items()) if first else ""
        statuses = Counter(brief.status for brief in run.briefs.values())
        held = ", ".join(sorted({brief.isolation for brief in run.briefs.values()} - {""}))
        rows.append((
            run.run_id, first.mode if first else "-", str(versions.get("core", "-")), ", ".join(map(str, versions.get("plugins", ()))),
            caps or "no cap", held or "-", ", ".join(f"{n} {status}" for status, n in statuses.items()),
        ))  # fmt: skip
    return Section("What ran", ("run", "mode", "core", "plugins", "caps of a job", "protection", "jobs"), tuple(rows))


def _instruments(runs: Sequence[Run]) -> Section:
    """Each task's judge, and where its cases of known outcome had come out right."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for run in runs:
        for result in run.briefs.values():
            if result.calibration is not None:
                judge = f"{result.judge.version} {result.judge.digest}" if result.judge is not None else "-"
                seen[result.task_id, result.calibration, judge] += 1
    rows = tuple((task, place, judge, str(jobs)) for (task, place, judge), jobs in sorted(seen.items()))
    return Section("Judges", ("task", "calibrated", "judge", "jobs"), rows)


def _failures(comparison: Comparison) -> Section:
    failed = unscored(comparison.outcomes.outcomes)
    rows = [(o.task, o.entrant, str(o.seed), o.status, o.stop_reason, o.error[:300]) for o in failed[:SHOWN_FAILURES]]
    note = f"{len(failed) - SHOWN_FAILURES} more are not listed." if len(failed) > SHOWN_FAILURES else ""
    return Section(
        "Jobs without a score", ("task", "trainer", "seed", "status", "stopped by", "error"), tuple(rows), note
    )


def interval_cells(interval: Interval | None) -> tuple[str, str]:
    """Return an estimate and its interval as text; a dash for what is not known."""
    if interval is None:
        return "-", "-"
    if interval.low is None or interval.high is None:
        return number(interval.estimate), "-"
    return number(interval.estimate), f"{number(interval.low)} to {number(interval.high)}"


def amount(value: float | None) -> str:
    """Return how many of something: whole from a thousand on, with the thousands parted."""
    return number(value) if value is None or value < _WHOLE else f"{value:,.0f}"


def number(value: float | None) -> str:
    """Return a number with the digits that a reader needs."""
    return "-" if value is None else f"{value:.4g}"
