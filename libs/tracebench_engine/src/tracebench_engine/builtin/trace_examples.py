"""The suite `trace_examples`: Trace's introductory examples, as tasks without a computation graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Bounds, SuiteSpec, TaskSpec

if TYPE_CHECKING:
    from tracebench_core.registry import Registry


@hookimpl
def tracebench_register(registry: Registry) -> None:
    """Add the suite and its tasks."""
    registry.add(
        SuiteSpec(
            title="Trace examples",
            description="The first examples of Trace's tutorials.",
            aliases=("example",),
            licence="MIT",
            calibrations="tracebench_engine.builtin.tasks.calibrations:trace_examples",
        ),
        TaskSpec(
            name="greeting_stub",
            title="Find the greeting that a language calls for",
            loader="tracebench_engine.builtin.tasks.examples:build_greeting",
            answers="tracebench_engine.builtin.tasks.examples:greetings_answers",
            tags=("text", "toy"),
            target=1.0,
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            metric="accuracy",
        ),
        TaskSpec(
            name="train_single_node_stub",
            title="Train one text node to say `hello`",
            loader="tracebench_engine.builtin.tasks.examples:build_single_node",
            answers="tracebench_engine.builtin.tasks.examples:single_node_answers",
            tags=("text", "toy"),
            target=1.0,
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            metric="similarity",
        ),
    )
