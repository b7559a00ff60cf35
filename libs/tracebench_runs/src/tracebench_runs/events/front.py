"""The candidates of a multi-objective job that no other dominates, from its evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracebench_core import averages
from tracebench_core.specs import FrontPoint, Objective, Split
from tracebench_core.specs.events import EvaluationDone

_PREFERENCE: tuple[Split, ...] = ("validation", "train")


class Front:
    """Collects evaluations; `points` compares candidates that were measured on the same examples only.

    Those are all examples of the validation split that the job met, or of train where no validation took place. A candidate that
    misses one of them, or failed on one, is left out. Of equal candidates the earliest stands for all.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._objectives = tuple(objectives)
        self._measured: dict[Split, dict[str, dict[str, EvaluationDone]]] = {s: {} for s in _PREFERENCE}

    def add(self, event: EvaluationDone) -> None:
        """Take one evaluation; a later one of the same candidate and example replaces it."""
        if self._objectives and event.split in self._measured:
            self._measured[event.split].setdefault(event.candidate, {})[event.example] = event

    def points(self) -> tuple[FrontPoint, ...]:
        """Return the front in the order in which its candidates appeared, with the mean of every objective's metric."""
        by_candidate = next((self._measured[s] for s in _PREFERENCE if self._measured[s]), {})
        examples = set[str]().union(*by_candidate.values())
        names = [o.metric for o in self._objectives]
        signs = [1.0 if o.direction == "maximize" else -1.0 for o in self._objectives]
        front: list[tuple[tuple[float, ...], FrontPoint]] = []
        for candidate, results in by_candidate.items():
            metrics = _means(results, examples=examples, names=names)
            if metrics is None:
                continue
            gains = tuple(sign * metrics[name] for sign, name in zip(signs, names, strict=True))
            if any(_covers(other, gains) for other, _ in front):
                continue
            front = [kept for kept in front if not _covers(gains, kept[0])]
            front.append((gains, FrontPoint(candidate=candidate, metrics=metrics)))
        return tuple(point for _, point in front)


def _covers(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return all(a >= b for a, b in zip(left, right, strict=True))


def _means(results: dict[str, EvaluationDone], *, examples: set[str], names: Sequence[str]) -> dict[str, float] | None:
    if results.keys() != examples or any(r.status != "ok" for r in results.values()):
        return None
    ordered = [results[e].metrics for e in sorted(examples)]
    if not all(math.isfinite(m.get(n, math.nan)) for m in ordered for n in names):
        return None
    return {n: averages.mean([m[n] for m in ordered]) for n in sorted(names)}
