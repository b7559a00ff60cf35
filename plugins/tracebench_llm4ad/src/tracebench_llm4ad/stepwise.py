"""Simulations that put one question after another, run alone or side by side.

Side by side, one call of the candidate carries a question of every instance that is not done yet: a round trip to its process is paid
once for all of them. An instance that is alone is asked directly. An instance's answers depend on its own questions only, so a function
without state gives the same either way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tracebench_core.contracts import EvaluationFailed, Session
from tracebench_llm4ad.evaluator import Heuristic, Rules, invalid
from tracebench_llm4ad.heuristic import SIDE_BY_SIDE, explain, spent
from tracebench_llm4ad.returned import shown

Instance = TypeVar("Instance")


class Answer(NamedTuple):
    """What the function returned, and the seconds that count for it; of a call for several instances, an equal share."""

    value: Any
    seconds: float


Steps: TypeAlias = Generator[tuple[Any, ...], Answer, Any]
"""Yields the arguments of a call, is sent its `Answer`, and returns the solution."""


class StepwiseRules(Rules[Instance]):
    """Rules whose simulation is a generator of questions."""

    @abstractmethod
    def steps(self, instance: Instance) -> Steps:
        """Simulate; raise `invalid(…)` as soon as an answer breaks a rule."""

    def solve(self, instance: Instance, heuristic: Heuristic) -> Any:
        """Run the simulation on one instance alone."""
        steps = self.steps(instance)
        try:
            question = next(steps)
            while True:
                before = heuristic.seconds
                value = heuristic(*question)
                question = steps.send(Answer(value, heuristic.seconds - before))
        except StopIteration as end:
            return end.value


def solve_side_by_side(
    simulations: Sequence[Steps], session: Session, *, named: Callable[[int], AbstractContextManager[None]]
) -> list[Any]:
    """Return the solutions of all simulations; `named` puts the name of the simulation at a place before a failure's words.

    Raises:
        EvaluationFailed: when a call fails, or an answer breaks a rule.
    """
    solutions: list[Any] = [None] * len(simulations)
    questions: dict[int, tuple[Any, ...]] = {}

    def go_on(place: int, answer: Answer | None) -> None:
        steps = simulations[place]
        try:
            questions[place] = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            solutions[place] = end.value
        except EvaluationFailed:
            with named(place):
                raise

    for place in range(len(simulations)):
        go_on(place, None)
    while questions:
        asked, questions = questions, {}
        for place, answer in zip(asked, _answers(asked, session, named=named), strict=True):
            go_on(place, answer)
    return solutions


def _answers(
    asked: Mapping[int, tuple[Any, ...]], session: Session, *, named: Callable[[int], AbstractContextManager[None]]
) -> list[Answer]:
    if len(asked) == 1:
        ((place, question),) = asked.items()
        outcome = session.call(*question)
        if outcome.status != "ok":
            with named(place):
                raise EvaluationFailed(explain(outcome))
        return [Answer(outcome.value, spent(outcome))]
    outcome = session.call([*asked.values()], entry=SIDE_BY_SIDE)
    if outcome.status != "ok":
        _blame(asked, session, named=named)
        raise EvaluationFailed(explain(outcome))
    values, share = outcome.value, spent(outcome) / len(asked)
    if not isinstance(values, list) or len(values) != len(asked):
        raise invalid(f"The program must not touch `{SIDE_BY_SIDE}`; it returned {shown(values)}.")
    return [Answer(value, share) for value in values]


def _blame(
    asked: Mapping[int, tuple[Any, ...]], session: Session, *, named: Callable[[int], AbstractContextManager[None]]
) -> None:
    """Ask the questions of a failed call again, one by one: the first that fails has the name of its instance."""
    for place, question in asked.items():
        again = session.call(*question)
        if again.status != "ok":
            with named(place):
                raise EvaluationFailed(explain(again))
