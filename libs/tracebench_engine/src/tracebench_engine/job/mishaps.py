"""Exceptions of a task's own code under a job's evaluations: a bug of the task is told, and where nothing but it was met, fails the job."""

from __future__ import annotations

from collections import Counter

from tracebench_core.specs import ExampleResult, Raised
from tracebench_runs.events.many import Numbers
from tracebench_runs.events.ranking import INITIAL


class Mishaps:
    """Counts, by place, what was raised while candidates were measured."""

    def __init__(self) -> None:
        self._places: Counter[Raised] = Counter()
        self._candidates = Numbers()
        self._met = bytearray()
        """Of each candidate by its number whether any of its evaluations raised."""
        self._evaluations = 0

    def take(self, candidate: str, result: ExampleResult) -> None:
        """Take one evaluation."""
        self._evaluations += 1
        number, new = self._candidates.add(candidate)
        if new:
            self._met.append(False)
        if result.raised is not None:
            self._places[result.raised] += 1
            self._met[number] = True

    def verdict(self) -> str:
        """Return in words that every changed candidate met an exception of the task, or nothing."""
        of_changed = [met for number, met in enumerate(self._met) if self._candidates.name(number) != INITIAL]
        if not of_changed or not all(of_changed):
            return ""
        return f"every changed candidate met an exception of the task: {told(self._places, of=self._evaluations)}"


def told(places: Counter[Raised], *, of: int) -> str:
    """Return what was raised, the most frequent first, out of how many evaluations."""
    parts = [f"{n} of {of} evaluations raised {p.type} (line {p.line} of {p.file})" for p, n in places.most_common()]
    return "; ".join(parts)
