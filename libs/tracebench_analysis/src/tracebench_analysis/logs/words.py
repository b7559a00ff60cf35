"""A comparison of logs in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tracebench_analysis.logs.versus import LogComparison, PairOfLogs

NAMES = {"same": "the same as", "better": "better than", "worse": "worse than"}


def log_sentences(found: LogComparison) -> Iterator[str]:
    """Yield what each pair comes to, and what would decide it where it is open."""
    for pair in found.pairs:
        two = f"`{pair.one}` and `{pair.other}`"
        if pair.verdict == "not resolved":
            yield f"Not resolved: {two}, {_by_how_much(pair)}. {_what_decides(pair)}"
        elif pair.verdict == "same":
            yield f"`{pair.one}` and `{pair.other}` score the same on each of {pair.questions} questions."
        else:
            yield f"`{pair.one}` is {NAMES[pair.verdict]} `{pair.other}`: {_by_how_much(pair)}."


def _by_how_much(pair: PairOfLogs) -> str:
    interval = pair.interval
    limits = "no interval" if interval.low is None else f"95 % {interval.low:+.4g} to {interval.high:+.4g}"
    p = "untested" if pair.adjusted is None else f"p = {pair.adjusted:.3g} after Holm"
    return f"{interval.estimate:+.4g} ({limits}, {p}) on {pair.questions} question{'s' if pair.questions != 1 else ''}"


def _what_decides(pair: PairOfLogs) -> str:
    told = []
    if pair.resolution is not None and pair.resolution.smallest is not None:
        told.append(f"These questions find a difference of {pair.resolution.smallest:.3g} or more four times in five.")
    if pair.more is not None:
        told.append(f"If it stays as it is, about {pair.more:,} more questions like these would likely decide.")
    elif pair.resolution is not None:
        told.append("No number of questions up to 100,000 would likely decide.")
    else:
        told.append("Too few questions tell the two apart for a test.")
    if pair.epochs_needed is not None:
        told.append(f"On these questions, {pair.epochs_needed:,} epochs each would, too.")
    return " ".join(told)


def log_data(found: LogComparison) -> dict[str, Any]:
    """Return the comparison as JSON data; what is not known is null."""
    return {
        "metric": found.metric,
        "cluster": found.cluster,
        "logs": [
            {
                "label": s.table.log.label,
                "path": str(s.table.log.path),
                "tasks": sorted(s.table.log.tasks),
                "mean": s.mean,
                "standard_error_plain": s.plain,
                "standard_error_clustered": s.clustered,
                "questions": len(s.table.scores),
                "rows": s.rows,
                "rows_failed": s.table.failed,
                "rows_unscored": s.table.unscored,
            }
            for s in found.standings
        ],
        "pairs": [
            {
                "one": p.one,
                "other": p.other,
                "verdict": p.verdict,
                "difference": {k: v for k, v in asdict(p.interval).items() if k != "n"},
                "standard_error": p.error,
                "standard_error_unpaired": p.unpaired,
                "test": p.test,
                "probability": p.probability,
                "adjusted": p.adjusted,
                "questions": p.questions,
                "clusters": p.clusters,
                "only_in_one": p.only[0],
                "only_in_other": p.only[1],
                "won": p.won,
                "lost": p.lost,
                "smallest_resolved": None if p.resolution is None else p.resolution.smallest,
                "more_questions": p.more,
                "epochs_needed": p.epochs_needed,
            }
            for p in found.pairs
        ],
        "remarks": [*found.remarks],
    }
