"""A comparison as JSON data: what `compare --json` prints, what a report embeds and `verify` recomputes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tracebench_analysis.comparison.sentences import next_step, remarks, verdict_sentence
from tracebench_analysis.comparison.verdicts import Comparison, PairVerdict, Standing
from tracebench_analysis.statistics.floor import Resolution
from tracebench_analysis.statistics.intervals import Interval

FIRST_METHOD, METHOD = 1, 3
"""The way of comparing of reports that do not say, and this one. It rises whenever equal runs come to other data, for which a report of
before is not false."""
STANDING_COLUMNS = (
    "task", "measure", "rank", "entrant", "mean", "low", "high", "counted", "measured", "jobs", "winner",
)  # fmt: skip


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Return everything a comparison says; equal runs and options give equal data."""
    return {
        "runs": list(comparison.runs),
        "verdict": verdict_sentence(comparison),
        "next_step": next_step(comparison),
        "remarks": remarks(comparison),
        "unfinished": dict(comparison.unfinished),
        "findings": [asdict(finding) for finding in comparison.findings],
        "judged": list(comparison.outcomes.judged),
        "failures_count_as": comparison.policy,
        "cut": None if comparison.cut is None else comparison.cut.model_dump(exclude_none=True),
        "baseline": comparison.baseline,
        "margin": comparison.margin,
        "leaderboard": [
            {
                **_standing(summary.standing, None if summary.lacks else position),
                "iqm": _interval(summary.iqm),
                "gap": summary.gap,
                "failed": summary.failed,
                "mean_rank": summary.rank,
                "n": summary.n,
                "lacks_tasks": list(summary.lacks),
                "use": asdict(summary.use),
                **({"gain": {"content": _interval(summary.content), "form": _interval(summary.form)}} if summary.content else {}),
            }
            for position, summary in enumerate(comparison.summaries, start=1)
        ],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "ranks": None if comparison.ranks is None else {"entrants": list(comparison.ranked), **asdict(comparison.ranks)},
        "noise_floor": {
            "split": comparison.floor.split,
            "bands": {name: _interval(band) for name, band in comparison.floor.bands.items()},
        },
        "tasks": [
            {
                "task": task.task,
                "measure": task.measure,
                "anchors": None if task.anchors is None else asdict(task.anchors),
                "winner": task.winner,
                "standings": [_standing(s, position) for position, s in enumerate(task.standings, start=1)],
                "pairs": [_pair(pair) for pair in task.pairs],
            }
            for task in comparison.tasks
        ],
        "changes": [asdict(change) for change in comparison.changes],
    }  # fmt: skip


def differing_parts(told: Any, expected: Mapping[str, Any]) -> list[str]:
    """Return in which of its parts a told comparison is not the one that is expected."""
    if not isinstance(told, dict):
        return ["everything"]
    return [name for name in expected if told.get(name) != expected[name]]


def differing_scores(told: Any, expected: Mapping[str, Any]) -> list[str]:
    """Return what of a comparison made by another method is false by any: runs, and every entrant's jobs and mean on each task."""
    try:
        one, other = _facts(told), _facts(expected)
    except (KeyError, TypeError, AttributeError):
        return ["everything"]
    return [what for what in {**one, **other} if one.get(what) != other.get(what)]


def _facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what jobs measured, which no method changes; means to nine digits, for they may have been added up in another order."""
    found: dict[str, Any] = {"the runs": data["runs"], "the cut": data["cut"], "failures": data["failures_count_as"]}
    for task in data["tasks"]:
        for standing in task["standings"]:
            mean = standing["mean"] if standing["measured"] else None
            found[f"the scores of {standing['entrant']} on {task['task']}"] = (
                task["measure"],
                None if mean is None else f"{mean['estimate']:.9g}",
                standing["counted"] if standing["measured"] else 0,
                *(standing[name] for name in ("measured", "jobs")),
            )
    return found


def standing_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield one row per entrant and task, and per entrant over all tasks (task `*`), with `STANDING_COLUMNS`."""
    for position, summary in enumerate(comparison.summaries, start=1):
        yield _row("*", "normalised", summary.standing, None if summary.lacks else position, None)
    for task in comparison.tasks:
        for position, standing in enumerate(task.standings, start=1):
            yield _row(task.task, task.measure, standing, position, task.winner)


def _row(task: str, measure: str, standing: Standing, position: int | None, winner: str | None) -> dict[str, Any]:
    told = _standing(standing, position)
    interval = told.pop("mean") or {"estimate": None, "low": None, "high": None}
    is_winner = standing.entrant == winner
    return {
        "task": task,
        "measure": measure,
        "mean": interval["estimate"],
        "low": interval["low"],
        "high": interval["high"],
        "winner": is_winner,
        **told,
    }


def _standing(standing: Standing, position: int | None) -> dict[str, Any]:
    return {
        "rank": position if standing.interval is not None else None,
        "entrant": standing.entrant,
        "mean": _interval(standing.interval),
        "counted": standing.counted,
        "measured": standing.measured,
        "jobs": standing.jobs,
    }


def _pair(pair: PairVerdict) -> dict[str, Any]:
    difference = pair.difference
    return {
        "one": pair.one,
        "other": pair.other,
        "verdict": pair.verdict,
        "difference": _interval(difference.interval),
        "other_tasks": _interval(difference.elsewhere),
        "probability": difference.probability,
        "holm": pair.adjusted,
        "equivalence": pair.equivalence,
        "improvement": pair.improvement,
        "scale": difference.scale,
        "pairs": difference.paired,
        "pairs_measured": pair.measured,
        "unpaired": difference.unpaired,
        "resolution": None if pair.resolution is None else _flat(pair.resolution),
        "tasks": [part.task for part in difference.tasks],
        "tasks_against": list(pair.against),
        "more_seeds": None if pair.decision is None else pair.decision.more,
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else _flat(interval)


def _flat(value: Interval | Resolution) -> dict[str, Any]:
    """Return the fields of what holds numbers alone: there are three of them to a pair, and nothing in them to copy."""
    return {name: getattr(value, name) for name in value.__slots__}
