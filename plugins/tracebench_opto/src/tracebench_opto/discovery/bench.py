"""What the adapters of one job share: the problem, the current step, and the scores given so far.

All of it returns itself when it is copied: opto copies what it is given for each example and each candidate.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tracebench_core.contracts import Problem
from tracebench_core.proposing.intake import Intake
from tracebench_core.specs import Example, Values
from tracebench_opto.discovery.hashable import hashable, plain

IDLE_PROPOSALS = 20
"""Proposals in a row that spend nothing of what the budget caps after which a class that runs to the cap is ended."""
UNKNOWN = -1e9
"""The score of a failure before anything was measured."""


KEPT = 3
"""How many of the best candidates are measured whole at the end, besides the one that the trainer left."""
RESERVE = 5
"""At most this part of the budget of evaluations is kept back for that."""


class Enough(BaseException):
    """A class goes on without spending what the budget caps, or what is left is needed to measure its best candidates whole.

    Like a spent budget it must pass through every `except Exception`.
    """


class Shared:
    """What does not multiply when it is copied."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def copy(self) -> Self:
        """Return itself."""
        return self


@dataclass
class Measured:
    """One candidate and its scores, by example."""

    values: Values
    scores: dict[str, list[float]] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Over all measurements."""
        return statistics.fmean(score for scores in self.scores.values() for score in scores)

    def covers(self, examples: Sequence[Example]) -> bool:
        """Tell whether each of these examples was measured."""
        return all(e.id in self.scores for e in examples)


class Bench(Shared):
    """What all adapters of one job share: the problem, the names of the agent's parameters in order, and the current step."""

    def __init__(self, problem: Problem, names: Sequence[str | None]) -> None:
        self.problem = problem
        self.names = tuple(names)
        self.measured: dict[str, Measured] = {}
        """By candidate id."""
        self._worst: float | None = None
        self._intake = Intake(problem)
        self._examples = {e.id: e for e in (*problem.validation, *problem.train)}
        self._step = contextlib.ExitStack()
        self._spent: tuple[float | None, ...] = ()
        self._idle = 0
        cap, whole = problem.budget.caps.evaluations, (KEPT + 1) * len(problem.validation or problem.train)
        self._last = None if cap is None else cap - min(whole, cap // RESERVE)

    def example(self, id_: str) -> Example:
        """Return an example by id."""
        return self._examples[id_]

    def values(self, nodes: Sequence[Any]) -> Values:
        """Return the values that the agent's parameters hold."""
        held = {name: plain(node._data) for name, node in zip(self.names, nodes, strict=True) if name}  # noqa: SLF001 - untraced
        return {p.name: held[p.name] for p in self.problem.parameters}

    def typed(self, nodes: Sequence[Any], written: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the suggested values that may be used, typed, by node."""
        base = self.values(nodes)
        named = [(name, node) for name, node in zip(self.names, nodes, strict=True) if name and node in written]
        values = self._intake.take(base, {name: written[node] for name, node in named}) or base
        return {node: hashable(values[name]) for name, node in named if values[name] != base[name]}

    def report(self, complaints: Sequence[str]) -> None:
        """Record replies that could not be read."""
        if complaints:
            self._intake.malformed("; ".join(dict.fromkeys(complaints)))

    def next_step(self) -> None:
        """End the current step and begin another: one for each proposal.

        Raises:
            Enough: when the job has caps, and nothing of what they cap was spent for long.
        """
        self.end_step()
        used, caps = self.problem.budget.used(), self.problem.budget.caps.caps()
        spent = tuple(getattr(used, axis) for axis in caps)
        self._idle = self._idle + 1 if spent == self._spent else 0
        self._spent = spent
        if caps and self._idle >= IDLE_PROPOSALS:
            raise Enough
        self._step.enter_context(self.problem.step())

    def end_step(self) -> None:
        """End the current step, if there is one."""
        self._step.close()

    @property
    def failed(self) -> float:
        """What a trainer is told where there is no score, for it knows nothing but scores: less than any yet."""
        return UNKNOWN if self._worst is None else self._worst - max(1.0, abs(self._worst))

    def score(self, submission: Submission) -> tuple[float, str, dict[str, float]]:
        """Evaluate a candidate on an example; where it has no score, `failed` stands in.

        Raises:
            Enough: when the evaluations that are left are needed at the end.
        """
        if self._last is not None and self.problem.budget.used().evaluations >= self._last:
            raise Enough
        evaluation = self.problem.evaluate(submission.values, [self.example(submission.example)], origin="discovered")
        if evaluation.score is None:
            return self.failed, evaluation.results[0].feedback.text, {}
        entry = self.measured.setdefault(evaluation.candidate.id, Measured(evaluation.candidate.values))
        entry.scores.setdefault(submission.example, []).append(evaluation.score)
        self._worst = evaluation.score if self._worst is None else min(self._worst, evaluation.score)
        return evaluation.score, evaluation.results[0].feedback.text, evaluation.metrics


class Submission(Shared):
    """An agent's output: which values are to be evaluated on which example. As text it is what the optimizer may see."""

    def __init__(self, values: Values, example: str, text: str) -> None:
        self.values = values
        self.example = example
        self._text = text

    def __repr__(self) -> str:
        return self._text
