"""The task and the trainer of simulated runs: a number, a long text that becomes a blob, and a test split."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec, TrainerSpec

MEASURED: list[str] = []
"""What was measured since somebody looked, in words."""


class Settings(BaseModel, extra="forbid"):
    """None."""


class Lab:
    """Raise x."""

    objective = "raise x"
    parameters = (
        Parameter(name="x", initial=0.0, kind="number"),
        Parameter(name="text", initial="long " * 500),
    )
    splits = {  # noqa: RUF012 - a task's own
        "train": [Example(id="a"), Example(id="b")],
        "test": [Example(id="t"), Example(id="u")],
    }

    def run(self, values: Any, example: Example, context: Any) -> float:
        """Return x, and tell that it was measured."""
        MEASURED.append(f"{values['x']} on {example.id}")
        return float(values["x"])

    def guide(self, example: Example, output: float, context: Any) -> Feedback:
        """Score it."""
        return Feedback(score=output)


class Climbs:
    """Measures two candidates, each better than the one before."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def train(self, problem: Any) -> None:
        """Climb."""
        for x in (1.0, 2.0):
            with problem.step():
                problem.evaluate({"x": x, "text": "long " * 500}, origin="climbed")


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """Offer the task."""
    return [TaskSpec(name="one", loader="tests.simulation.lab:Lab", title="one")]


@hookimpl
def tracebench_trainers() -> list[TrainerSpec]:
    """Offer the trainer."""
    of_ours = {"loader": "tests.simulation.lab:Climbs", "settings": "tests.simulation.lab:Settings"}
    return [TrainerSpec(name="Climbs", **of_ours, uses_model=False)]
