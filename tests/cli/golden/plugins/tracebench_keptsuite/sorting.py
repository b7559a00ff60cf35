"""The task `keptsuite:sorting`: candidates are code, run in the sandbox and scored outside of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Example, Feedback, Limits, Parameter, Split, Values

INITIAL = """def arrange(items, less):
    items = list(items)
    for i in range(len(items)):
        for j in range(len(items) - 1):
            if less(items[j + 1], items[j]):
                items[j], items[j + 1] = items[j + 1], items[j]
    return items
"""
BETTER = """def arrange(items, less):
    items = list(items)
    if len(items) < 2:
        return items
    half = len(items) // 2
    left, right, merged = arrange(items[:half], less), arrange(items[half:], less), []
    while left and right:
        merged.append(right.pop(0) if less(right[0], left[0]) else left.pop(0))
    return merged + left + right
"""
COUNTED = """
def count(items):
    calls = [0]
    def less(a, b):
        calls[0] += 1
        return a < b
    return [arrange(items, less), calls[0]]
"""
LIMITS = Limits(seconds=2.0, memory_mb=256)


class Options(BaseModel):
    """What a config may set in `eval_kwargs`."""

    model_config = ConfigDict(extra="forbid")

    length: int = Field(default=12, ge=2, le=200)
    """How many numbers a list has."""


class Sorting:
    """A program of one parameter, `code`."""

    objective = (
        "Write `arrange(items, less)` that returns the items in order, with as few calls of less(a, b) as you can."
    )
    parameters: Sequence[Parameter] = (
        Parameter(name="code", initial=INITIAL, kind="code", signature="def arrange(items, less):", max_length=10_000),
    )

    def __init__(self, options: Options) -> None:
        self.splits: Mapping[Split, Sequence[Example]] = {
            "train": tuple(_example("train", i, options.length) for i in range(3)),
            "validation": tuple(_example("validation", i, options.length) for i in range(3)),
            "test": tuple(_example("test", i, options.length) for i in range(3)),
        }

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Call the candidate on a copy of the input, in a process that reaches nothing else."""
        code = f"{values['code']}\n{COUNTED}"
        outcome = context.sandbox.call(code, "count", example.input, limits=LIMITS)
        if outcome.status != "ok":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
        return outcome.value

    def guide(self, example: Example, output: Any, _context: Context, /) -> Feedback:
        """Score the number of comparisons, fewer is better; what the candidate returned is not trusted."""
        if not (isinstance(output, list) and len(output) == 2 and isinstance(output[1], int)):
            return Feedback(
                score=0.0, status="invalid", text="`arrange` must return a list and call `less` to compare."
            )
        arranged, calls = output
        if arranged != example.reference:
            return Feedback(score=0.0, status="invalid", text=f"{example.input} came back as {str(arranged)[:200]}.")
        text = f"{calls} comparisons for {len(example.input)} numbers."
        return Feedback(score=-float(calls), text=text, metrics={"comparisons": float(calls)})


def build(**options: Any) -> Sorting:
    """Build the task with its options, which have been checked against `Options`."""
    return Sorting(Options(**options))


def answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return answers of known quality, the worst first: they show the task offline, and prove that it can be improved."""
    return [{"code": BETTER}]


def _example(split: str, number: int, length: int) -> Example:
    numbers = random.Random(f"{split}-{number}").sample(range(1000), length)
    return Example(id=f"{split}-{number}", input=numbers, reference=sorted(numbers))
