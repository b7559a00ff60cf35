"""The suite `internal`: small tasks that show whether the machinery works, and what an optimiser does with each kind of parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Bounds, Objective, SuiteSpec, TaskSpec

if TYPE_CHECKING:
    from tracebench_core.registry import Registry

TASKS = "tracebench_engine.builtin.tasks"


@hookimpl
def tracebench_register(registry: Registry) -> None:
    """Add the suite and its tasks."""
    registry.add(
        SuiteSpec(
            title="Internal checks",
            description="Small synthetic tasks: numbers, code, several parameters, several objectives.",
            licence="MIT",
            calibrations=f"{TASKS}.calibrations:internal",
        ),
        TaskSpec(
            name="code_param",
            title="Make a function return its input doubled and shifted",
            loader=f"{TASKS}.code_param:build",
            answers=f"{TASKS}.code_param:answers",
            tags=("code", "toy"),
            sandbox=(),
            target=1.0,
            metric="correct",
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            metric_bounds={"correct": Bounds(minimum=0.0, maximum=1.0)},
        ),
        TaskSpec(
            name="numeric_param",
            title="Move a number to 3",
            loader=f"{TASKS}.numeric:build_one",
            answers=f"{TASKS}.numeric:answers_of_one",
            options=f"{TASKS}.numeric:NumericOptions",
            tags=("number", "toy"),
            target=-0.05,
            metric="distance",
            direction="minimize",
            metric_bounds={"distance": Bounds(minimum=0.0)},
        ),
        TaskSpec(
            name="multi_param",
            title="Choose two numbers that add up to 3",
            loader=f"{TASKS}.numeric:build_two",
            answers=f"{TASKS}.numeric:answers_of_two",
            tags=("number", "toy"),
            target=-0.05,
            metric="distance",
            direction="minimize",
            metric_bounds={"distance": Bounds(minimum=0.0)},
        ),
        TaskSpec(
            name="non_trainable",
            title="A task without trainable parameters: must be refused",
            loader=f"{TASKS}.non_trainable:build",
            tags=("toy",),
            trainable=False,
        ),
        TaskSpec(
            name="multiobjective_convex",
            title="Minimise a six-hump camel and a distance at once",
            loader=f"{TASKS}.convex:build",
            answers=f"{TASKS}.convex:answers",
            options=f"{TASKS}.convex:ConvexOptions",
            tags=("number", "multi-objective", "toy"),
            metric="base_loss",
            direction="minimize",
            metric_bounds={"base_loss": Bounds(minimum=-1.03163), "reg_loss": Bounds(minimum=0.0, maximum=8.0)},
            objectives=(
                Objective(metric="base_loss", direction="minimize"),
                Objective(metric="reg_loss", direction="minimize"),
            ),
            citation="Six-hump camel function: Dixon and Szegö, Towards Global Optimization 2, 1978",
        ),
    )
