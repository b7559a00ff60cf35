"""The axes of a budget: what may be capped, what was used, and one table from which the rest of the product derives.

A new axis is an entry of `AXES`, a name in `Axis`, and a field of `Budget` and of `BudgetState`: all in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tracebench_core import money
from tracebench_core.specs.base import ManySpec, Spec

Axis = Literal["evaluations", "llm_calls", "tokens", "usd", "seconds"]


class Budget(Spec):
    """Caps per axis; None leaves an axis free."""

    evaluations: int | None = Field(default=None, ge=0)
    """Guide calls: one candidate on one example."""
    llm_calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    """Wall time of training, without the engine's own scoring. It counts from the first evaluation or model call on, and after a minute at
    the latest."""

    strict: bool = False
    """Refuse every call that could pass a cap on tokens or USD in the worst case: a token for each byte sent, and the longest answer."""

    def caps(self) -> dict[Axis, float]:
        """Return the axes that are capped, with their caps."""
        return {axis.name: cap for axis in AXES if (cap := getattr(self, axis.name)) is not None}

    @model_serializer(mode="wrap")
    def _unless_usual(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is as ever: jobs are named by their budgets."""
        dumped: dict[str, Any] = dump(self)
        return {name: value for name, value in dumped.items() if name != "strict" or value}


class Usage(Spec):
    """What was used, of one role or of all."""

    llm_calls: int = 0
    """Calls that a model answered and that were counted against the budget."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """The part of `prompt_tokens` that the provider served from its cache."""
    usd: float | None = 0.0
    """None when a price is unknown."""
    cached_calls: int = 0
    retries: int = 0
    refused: int = 0
    """Calls that a spent budget turned away."""
    errors: int = 0
    """Calls that no model answered, after all retries."""
    estimated_tokens: int = 0
    """The part of all tokens that is our estimate, because the provider sent no usage."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        usd = None if self.usd is None or other.usd is None else money.total([self.usd, other.usd])
        counts = {n: getattr(self, n) + getattr(other, n) for n in type(self).model_fields if n != "usd"}
        return Usage(usd=usd, **counts)


@dataclass(frozen=True, slots=True)
class BudgetAxis:
    """One axis, as counters and screens treat it."""

    name: Axis
    label: str
    """In front of an amount, for people."""
    unit: str = ""
    """Behind an amount."""
    of_calls: Callable[[Usage], float | None] | None = None
    """What model calls add up to; the gateway then turns calls away. None for what the engine counts."""
    heading: str = ""
    """Of a column, where it is not the name."""
    adds_up: bool = True
    """Whether jobs' amounts add up to their run's; wall seconds of jobs side by side do not."""

    @property
    def column(self) -> str:
        """Heading of a column of amounts."""
        return self.heading or self.name


AXES: tuple[BudgetAxis, ...] = (
    BudgetAxis("evaluations", "evaluations"),
    BudgetAxis("llm_calls", "model calls", heading="calls", of_calls=lambda used: used.llm_calls + used.cached_calls),
    BudgetAxis("tokens", "tokens", of_calls=lambda used: used.tokens),
    BudgetAxis("usd", "USD", of_calls=lambda used: used.usd),
    BudgetAxis("seconds", "time", unit=" s", adds_up=False),
)
ADDING: tuple[Axis, ...] = tuple(axis.name for axis in AXES if axis.adds_up)
"""The axes on which jobs' amounts add up."""
OF_CALLS: dict[Axis, Callable[[Usage], float | None]] = {a.name: a.of_calls for a in AXES if a.of_calls is not None}
"""The axes that the gateway counts, and how calls add up on each."""


def amounts_of(usage: Usage) -> dict[Axis, float | None]:
    """Return what model calls add up to on every axis that the gateway counts."""
    return {axis: of_calls(usage) for axis, of_calls in OF_CALLS.items()}


class BudgetState(ManySpec):
    """How far a job is on every axis."""

    evaluations: int = 0
    llm_calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, usage: Usage, *, evaluations: int = 0, seconds: float = 0.0) -> BudgetState:
        """Return the state that model calls, evaluations and wall seconds add up to."""
        return cls.model_validate({**amounts_of(usage), "evaluations": evaluations, "seconds": seconds})
