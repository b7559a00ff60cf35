"""A suite whose one task stands on an environment: a table in a folder, opened for the run, that the program reads at each evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import EnvironmentSpec, Example, Feedback, Parameter, TaskSpec

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


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the table."""
    return [EnvironmentSpec(name="table", kind="folder", scope="run", loader="ward:Table")]


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """Offer the task."""
    return [TaskSpec(name="bed", loader="ward:Bed", title="bed", environments=("table",))]
