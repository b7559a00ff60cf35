"""The task `example_plugin:median`: candidates are code, run in the sandbox and scored outside of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tracebench_core import task
from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Bounds, Calibration, Example, Feedback, Limits, Parameter, Split, Values

INITIAL = "def middle(numbers):\n    return sum(numbers) / len(numbers)\n"
RIGHT = """def middle(numbers):
    low, high = (sorted(numbers)[i] for i in ((len(numbers) - 1) // 2, len(numbers) // 2))
    return (low + high) / 2
"""
UPPER = "def middle(numbers):\n    return sorted(numbers)[len(numbers) // 2]\n"
EQUAL = """class Equal(float):
    __sub__ = __rsub__ = lambda *_: 0.0

def middle(numbers):
    return Equal(7)
"""
CASES: dict[Split, Sequence[list[int]]] = {
    "train": ([1, 2, 9], [4, 4, 4, 8], [7]),
    "validation": ([0, 0, 12], [5, 1, 9, 2]),
    "test": ([3, 100, -3], [2, 2, 3, 40]),
}


class Median:
    """A program of one parameter, `code`."""

    objective = "Write the function `middle(numbers)` that returns what the examples ask for."
    parameters: Sequence[Parameter] = (
        Parameter(name="code", initial=INITIAL, kind="code", signature="def middle(numbers):", max_length=10_000),
    )
    splits: Mapping[Split, Sequence[Example]] = {
        split: tuple(Example(id=f"{split}-{i}", input=case, reference=median(case)) for i, case in enumerate(cases))
        for split, cases in CASES.items()
    }

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Call the candidate on a copy of the input, in a process that reaches nothing else."""
        limits = Limits(seconds=2.0, memory_mb=256)
        outcome = context.sandbox.call(str(values["code"]), "middle", example.input, limits=limits)
        if outcome.status != "ok":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
        return outcome.value

    def guide(self, example: Example, output: Any, _context: Context, /) -> Feedback:
        """Score 1 for the right answer, less the farther off; what the candidate returned is not trusted to be a number."""
        if not isinstance(output, int | float) or output != output:  # noqa: PLR0124 - NaN
            return Feedback(score=0.0, status="invalid", text=f"middle({example.input}) must return a number.")
        off = float(abs(output - example.reference))
        text = f"middle({example.input}) returned {output}, expected {example.reference}."
        return Feedback(score=1.0 / (1.0 + off), text=text, metrics={"off": off})

    def calibrations(self) -> list[Calibration]:
        """Return cases whose outcome is known: `trace-bench calibrate example_plugin:median` measures them."""
        renamed = RIGHT.replace("numbers", "given")
        return [
            Calibration(name="right", kind="gold", values={"code": RIGHT}, expected=1.0, source="the definition"),
            Calibration(name="renamed", kind="form", values={"code": renamed}, other="right"),
            Calibration(name="upper", kind="order", values={"code": UPPER}, other="mean"),
            Calibration(
                name="mean", kind="known", values={"code": INITIAL}, expected=11 / 18, abs_tol=1e-9, source="by hand"
            ),
            Calibration(name="equal to all", kind="forged", values={"code": EQUAL}, other="mean"),
        ]


def answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return programs of known quality, the worst first: the demonstration with `llm.stub: answers` climbs them."""
    return [{"code": UPPER}, {"code": RIGHT}]


@task(
    "median",
    title="Write a function that returns the median",
    answers=answers,
    metric="off",
    direction="minimize",
    target=1.0,
    worst_score=0.0,
    score_bounds=Bounds(minimum=0.0, maximum=1.0),
    metric_bounds={"off": Bounds(minimum=0.0)},
    sandbox=(),
    licence="MIT",
)
def build() -> Median:
    """Build the task; a task with options takes them here as keywords."""
    return Median()
