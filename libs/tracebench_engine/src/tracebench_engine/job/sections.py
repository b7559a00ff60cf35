"""Sections: tasks that ask models side by side, with the same effect as one after another."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from tracebench_core.contracts import BudgetView
from tracebench_core.errors import BudgetExhausted, TrainingStopped
from tracebench_core.specs import OF_CALLS
from tracebench_gateway.turns import Turn, take

T = TypeVar("T")
ROOM = 2.0
"""Tasks run side by side while the caps leave so many times what the tasks would use at one call each."""


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


class Sections:
    """Runs the sections of one job. What a task raises ends it alone; the first error in order of tasks is raised in the end."""

    def __init__(self, budget: BudgetView) -> None:
        self._budget = budget
        self._numbers = count(1)

    def run(self, tasks: Sequence[Callable[[], T]], *, most: int) -> list[T]:
        """Return what the tasks return, in their order, with at most `most` under way at a time."""
        number = next(self._numbers)
        turns = [Turn(number, i, len(tasks)) for i in range(len(tasks))]
        if min(most, len(tasks)) < 2 or not self._has_room(len(tasks)):  # noqa: PLR2004 - side by side takes two
            outcomes: list[T | _Raised] = []
            for turn, task in zip(turns, tasks, strict=True):
                outcomes.append(_outcome(turn, task))
                last = outcomes[-1]
                if isinstance(last, _Raised) and isinstance(last.error, BudgetExhausted | TrainingStopped):
                    break
        else:
            with ThreadPoolExecutor(min(most, len(tasks)), "turn") as pool:
                contexts = [contextvars.copy_context() for _ in tasks]
                futures = [
                    pool.submit(context.run, _outcome, turn, task)
                    for context, turn, task in zip(contexts, turns, tasks, strict=True)
                ]
                outcomes = [future.result() for future in futures]
        for outcome in outcomes:
            if isinstance(outcome, _Raised):
                raise outcome.error
        return [outcome for outcome in outcomes if not isinstance(outcome, _Raised)]

    def _has_room(self, tasks: int) -> bool:
        """Tell whether no cap can end in the middle: near a cap the order of asking decides who is still served."""
        used = self._budget.used()
        calls = max(used.llm_calls, 1)
        for axis in OF_CALLS:
            left = self._budget.remaining(axis)
            is_known = used.llm_calls or axis == "llm_calls"
            cost = (getattr(used, axis) or 0.0) / calls if used.llm_calls else 1.0
            if left is not None and (not is_known or left < ROOM * tasks * cost):
                return False
        return True


def _outcome(turn: Turn, task: Callable[[], T]) -> T | _Raised:
    with take(turn):
        try:
            return task()
        except BaseException as err:  # noqa: BLE001 - raised again in the thread that began the section
            return _Raised(err)
