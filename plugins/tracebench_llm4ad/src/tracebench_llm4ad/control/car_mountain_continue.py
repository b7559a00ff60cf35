"""Drive an underpowered car out of a valley with a force of any size."""

from __future__ import annotations

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.control.actions import Force
from tracebench_llm4ad.control.episode import World
from tracebench_llm4ad.control.evaluator import PROTOCOL, GoalEvaluator
from tracebench_llm4ad.control.options import ControlOptions

WORLD = World(
    gym_id="MountainCarContinuous-v0",
    observed=("pos", "v"),
    actions=Force(-1.0, 1.0),
    horizon=999,
    distance=lambda observation: max(0.0, 0.45 - observation[0]),
)


class CarMountainContinue(GoalEvaluator):
    """MountainCarContinuous-v0."""

    name = "machine_learning/car_mountain_continue"
    world = WORLD
    distance_words = "0.45 - position"
    program = '''
def choose_action(pos: float, v: float, last_action: float) -> float:
    """Return the force on the car, from -1.0 (left) to 1.0 (right)."""
    return 1.0
'''
    bound_source = "full force along the velocity"
    objective = f"""
Write the policy `choose_action` that drives a car out of a valley. The car moves on a line between the positions -1.2 and 0.6; the \
ground's height is sin(3 pos) / 3 + const., lowest near pos = -0.52, and the goal is at pos >= 0.45 with v >= 0. The engine is too weak \
to climb the slope directly: the car must swing back and forth. Each step: v += 0.0015 force - 0.0025 cos(3 pos), |v| at most 0.07, then \
pos += v; at the left wall the car stops. Episodes begin at rest with pos between -0.6 and -0.4.

Arguments: `pos` (float), `v` (float, position units per step), `last_action` (float).
Return a float between -1.0 (full force left) and 1.0 (full force right); a number beyond is cut to that range.
{PROTOCOL.format(neutral=WORLD.actions.neutral, gym_id=WORLD.gym_id, horizon=WORLD.horizon)}
How it is scored: the cost of an episode is steps / 999 if the goal is reached, otherwise 1 + 0.45 - the greatest position reached. The \
score is minus the mean cost, so a higher score is better.
"""


build = loader(CarMountainContinue, ControlOptions)
"""Build the task."""
