"""The five control tasks as data."""

from __future__ import annotations

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.table import extra, row

GYM = extra("gym", "gymnasium")
OPTIONS = "control.options:ControlOptions"

SPECS: tuple[TaskSpec, ...] = (
    row(
        "machine_learning/acrobot",
        "control.acrobot",
        title="Acrobot: swing a two-link pendulum over a line",
        description="A policy of six numbers and the last action; Acrobot-v1.",
        metric="cost",
        direction="minimize",
        options=OPTIONS,
        target=-0.2,
        requires=GYM,
        preload=("gymnasium",),
    ),
    row(
        "machine_learning/car_mountain",
        "control.car_mountain",
        title="Mountain car: drive out of a valley with three actions",
        description="A policy of position, velocity and the last action; MountainCar-v0.",
        metric="cost",
        direction="minimize",
        options=OPTIONS,
        target=-0.55,
        requires=GYM,
        preload=("gymnasium",),
    ),
    row(
        "machine_learning/car_mountain_continue",
        "control.car_mountain_continue",
        title="Mountain car: drive out of a valley with a continuous force",
        description="A policy of position, velocity and the last action; MountainCarContinuous-v0.",
        metric="cost",
        direction="minimize",
        options=OPTIONS,
        requires=GYM,
        preload=("gymnasium",),
    ),
    row(
        "machine_learning/moon_lander",
        "control.moon_lander",
        title="Moon lander: land gently between two flags",
        description="A policy of eight numbers and the last action; LunarLander-v3.",
        metric="return",
        direction="maximize",
        options=OPTIONS,
        target=200.0,
        requires=(*GYM, *extra("box2d", "Box2D")),
        preload=("gymnasium",),
    ),
    row(
        "machine_learning/pendulum",
        "control.pendulum",
        title="Pendulum: swing up and hold upright",
        description="A policy of angle, angular velocity and the last action; Pendulum-v1.",
        metric="return",
        direction="maximize",
        options=OPTIONS,
        requires=GYM,
        preload=("gymnasium",),
    ),
)
