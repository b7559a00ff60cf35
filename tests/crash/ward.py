"""The suite of the crash tests: code with a patient limit, and a task on an environment, a table in a folder that is opened for the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import EnvironmentSpec, Example, Feedback, FeedbackStatus, Limits, Parameter, TaskSpec
from tracebench_engine.builtin.tasks import code_param

HEIGHTS = {"a": 3.0, "b": 5.0, "t": 4.0}


class Table:
    """The environment."""

    def open(self, context: Any) -> dict[str, Any]:
        """Write the table."""
        for name, height in HEIGHTS.items():
            (context.workdir / name).write_text(str(height))
        return {"table": str(context.workdir)}

    def close(self) -> None:
        """Leave it: the folder goes with its run."""


class Bed:
    """Come near to the heights of the table."""

    objective = "Come near to the heights."
    parameters = (Parameter(name="x", initial=1.0, kind="number", minimum=0.0, maximum=10.0),)
    splits = {  # noqa: RUF012 - a task's own
        "train": [Example(id="a"), Example(id="b")],
        "test": [Example(id="t")],
    }

    def run(self, values: Any, example: Example, context: Any) -> float:
        """Return how far x is off."""
        table = Path(context.environment("table")["table"])
        return abs(float(values["x"]) - float((table / example.id).read_text()))

    def guide(self, example: Example, output: float, context: Any) -> Feedback:
        """Score it."""
        return Feedback(score=-output, text=f"{example.id}: off by {output:g}")


class Doubled:
    """The function of `internal:code_param`, with a minute for each call: on a starved machine its two seconds end sound candidates."""

    def __init__(self) -> None:
        there = code_param.build()
        self.objective, self.parameters, self.splits = there.objective, there.parameters, there.splits
        self.guide = there.guide

    def run(self, values: Any, example: Example, context: Any) -> Any:
        """Call the candidate in the sandbox."""
        limits = Limits(seconds=60.0, memory_mb=256)
        outcome = context.sandbox.call(str(values["code"]), "transform", example.input, limits=limits)
        if outcome.status != "ok":
            status: FeedbackStatus = "timeout" if outcome.status == "timeout" else "invalid"
            raise EvaluationFailed(Feedback(score=0.0, status=status, text=str(outcome.error)))
        return outcome.value


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the table."""
    return [EnvironmentSpec(name="table", kind="folder", scope="run", loader="ward:Table")]


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """Offer the tasks."""
    return [
        TaskSpec(name="bed", loader="ward:Bed", title="bed", environments=("table",)),
        TaskSpec(name="doubled", loader="ward:Doubled", title="doubled", sandbox=()),
    ]
