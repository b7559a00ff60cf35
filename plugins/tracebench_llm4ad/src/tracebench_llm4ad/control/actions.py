"""What a policy may answer: one of a few numbered actions, or a real number within a range."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import number, whole


@dataclass(frozen=True, slots=True)
class Choice:
    """Actions 0, 1, …, named in order; `neutral` is the `last_action` of the first step."""

    names: tuple[str, ...]
    neutral: int

    def read(self, answer: Any, *, where: Callable[[], str]) -> int:
        """Return the action an answer stands for; raises `invalid(…)`, naming `where` it was given."""
        if type(answer) is int and 0 <= answer < len(self.names):
            return answer
        action = whole(answer, what=f"{self.words} {where()}")
        if action not in range(len(self.names)):
            raise invalid(f"The function must return {self.words}; {where()} it returned {action}.")
        return action

    def tally(self, actions: tuple[float, ...]) -> str:
        """Say how often each action was taken."""
        shares = (f"{100 * actions.count(i) / len(actions):.0f} % {name}" for i, name in enumerate(self.names))
        return ", ".join(shares)

    @property
    def words(self) -> str:
        """Name the actions as feedback does."""
        return "an action " + ", ".join(f"{i} ({name})" for i, name in enumerate(self.names))


@dataclass(frozen=True, slots=True)
class Force:
    """A real number; what lies outside `low`…`high` is cut to the range, as the environment does."""

    low: float
    high: float
    neutral: float = 0.0

    def read(self, answer: Any, *, where: Callable[[], str]) -> float:
        """Return the action an answer stands for; raises `invalid(…)`, naming `where` it was given."""
        action: float = answer
        if type(answer) is not float or not math.isfinite(answer):
            action = number(answer, what=f"an action between {self.low:g} and {self.high:g} {where()}")
        return min(max(action, self.low), self.high)

    def tally(self, actions: tuple[float, ...]) -> str:
        """Say what actions were taken."""
        return f"actions from {min(actions):.3g} to {max(actions):.3g}, mean {sum(actions) / len(actions):.3g}"
