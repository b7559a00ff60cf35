"""What an evaluator returned, as plain data: a vector of values, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Report = dict[str, Any]
"""`{"values": [...], "metrics": {...}, "text": words}`, or `{"refused": words}`."""


def report(result: Any) -> Report:
    """Turn a number, a vector, a tuple of a score and words, or a dictionary with `score` into a report."""
    if result is None:
        return {"refused": "The evaluator returned no score (None): it rejects the program."}
    metrics: dict[str, float] = {}
    words = ""
    if isinstance(result, dict):
        metrics = {str(k): float(v) for k, v in result.items() if k != "score" and _is_number(v)}
        result = result.get("score")
    elif isinstance(result, tuple) and len(result) == 2 and not _is_number(result[1]):  # noqa: PLR2004 - a score and words
        result, words = result[0], str(result[1])
    if hasattr(result, "tolist"):
        result = result.tolist()
    values = list(result) if isinstance(result, list | tuple) else [result]
    if not values or not all(map(_is_number, values)):
        return {"refused": f"The evaluator returned {type(result).__name__} `{str(result)[:80]}`, which is no score."}
    numbers = [float(v) for v in values]
    if not all(map(math.isfinite, numbers)):
        return {"refused": f"The evaluator returned {numbers}: it rejects the program."}
    return {"values": numbers, "metrics": {k: v for k, v in metrics.items() if math.isfinite(v)}, "text": words}


def average(reports: Sequence[Report]) -> Report:
    """Return the mean of reports, or the first refusal."""
    for one in reports:
        if "refused" in one:
            return one
    columns = zip(*(one["values"] for one in reports), strict=True)
    names = set.intersection(*(set(one["metrics"]) for one in reports))
    return {
        "values": [math.fsum(column) / len(reports) for column in columns],
        "metrics": {name: math.fsum(one["metrics"][name] for one in reports) / len(reports) for name in sorted(names)},
        "text": reports[0]["text"],
    }


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | str | bytes):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
