"""Draws of examples: minibatches in shuffled order, pass after pass, and subsets; all randomness from the job's own generator."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tracebench_core.contracts import Problem
from tracebench_core.specs import Example


class Minibatches:
    """An endless stream of batches; each pass over the examples is shuffled anew and its last batch may be short.

    A batch that holds all the examples comes in their own order, so that equal batches are recognised as equal.
    """

    def __init__(self, examples: Sequence[Example], size: int, *, rng: random.Random) -> None:
        self._examples = tuple(examples)
        self._size = min(size, len(self._examples))
        self._rng = rng
        self._left: list[Example] = []

    def draw(self) -> tuple[Example, ...]:
        """Return the next batch."""
        if self._size == len(self._examples):
            return self._examples
        if not self._left:
            self._left = self._rng.sample(self._examples, len(self._examples))
        batch, self._left = self._left[: self._size], self._left[self._size :]
        return tuple(batch)


def draw_subset(examples: Sequence[Example], size: int | None, *, rng: random.Random) -> tuple[Example, ...]:
    """Return `size` of the examples in their own order, drawn without replacement; all of them when None or too few."""
    if size is None or size >= len(examples):
        return tuple(examples)
    return tuple(examples[i] for i in sorted(rng.sample(range(len(examples)), size)))


def comparison_set(problem: Problem, size: int | None) -> tuple[Example, ...]:
    """Draw at most `size` examples of validation, or of train where there is none, and declare them as what candidates are compared on."""
    chosen = draw_subset(problem.validation or problem.train, size, rng=problem.rng)
    if chosen:
        problem.compare_on(chosen)
    return chosen
