"""A field: one drawn instance of a family, of which everything is known. Families implement it, the task and the scripted model use it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values

Size = Literal["small", "medium", "large"]
Half = Literal["open", "held", "reserve"]


class Case(NamedTuple):
    """One example: what the program is given, and what the verdict is made from."""

    input: Any
    reference: Any


class Field(ABC):
    """One instance. Scores lie between 0 and 1, and no candidate has a higher expected one than `optimum`."""

    objective: str
    parameters: Sequence[Parameter]
    optimum: Values

    @abstractmethod
    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw an example of a split."""

    @abstractmethod
    def output(self, values: Values, given: Any, context: Context) -> Any:
        """Run the candidate on the input of an example.

        Raises:
            EvaluationFailed: the candidate has no output.
        """

    @abstractmethod
    def verdict(self, case: Case, output: Any) -> Feedback:
        """Score an output without noise, and say what would have been better."""

    def spread(self, case: Case, output: Any) -> float:
        """Say in which multiple of the task's noise this example judges this output: 1 unless judges differ."""
        return 1.0

    @abstractmethod
    def improve(self, values: Values, rng: random.Random) -> Values:
        """Return values that are better by one step, or the same where none is; of some of the parameters, when these alone are given."""

    @abstractmethod
    def harm(self, values: Values, rng: random.Random) -> Values:
        """Return values that are worse by one step; of some of the parameters, when these alone are given."""


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of field, and what draws one of them.

    `draw` takes the generator, the size and the share of deception (0 to 1): what deceives is said in `deceives`.
    """

    name: str
    half: Half
    title: str
    deceives: str
    draw: Callable[[random.Random, Size, float], Field]
    graded: bool = False
    """Scores are any number from 0 to 1, not 0 or 1."""
    sandbox: tuple[str, ...] | None = None
    """As in `TaskSpec`: modules for candidates that are code; None where none is run."""
    noise: float = 0.0
    """Of its own, as in the options, where none is asked for."""


def passed(is_right: bool, text: str) -> Feedback:  # noqa: FBT001 - it is the verdict
    """Return the feedback of an example that is passed or failed."""
    return Feedback(score=float(is_right), text="Passed." if is_right else text)
