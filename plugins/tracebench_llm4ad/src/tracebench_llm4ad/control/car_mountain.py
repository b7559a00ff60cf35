"""Drive an underpowered car out of a valley with three actions."""

from __future__ import annotations

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.control.actions import Choice
from tracebench_llm4ad.control.episode import World
from tracebench_llm4ad.control.evaluator import PROTOCOL, GoalEvaluator
from tracebench_llm4ad.control.options import ControlOptions

WORLD = World(
    gym_id="MountainCar-v0",
    observed=("pos", "v"),
    actions=Choice(("push left", "no push", "push right"), neutral=1),
    horizon=200,
    distance=lambda observation: max(0.0, 0.5 - observation[0]),
)


class CarMountain(GoalEvaluator):
    """MountainCar-v0."""

    name = "machine_learning/car_mountain"
    world = WORLD
    distance_words = "0.5 - position"
    program = '''
def choose_action(pos: float, v: float, last_action: int) -> int:
    """Return the push on the car: 0 (left), 1 (none) or 2 (right)."""
    return 2
'''
    bound_source = "Z. Xiao's closed-form policy (OpenAI Gym leaderboard)"
    objective = f"""
Write the policy `choose_action` that drives a car out of a valley. The car moves on a line between the positions -1.2 and 0.6; the \
ground's height is sin(3 pos) / 3 + const., lowest near pos = -0.52, and the goal is at pos >= 0.5 with v >= 0. The engine is too weak \
to climb the slope directly: the car must swing back and forth. Each step: v += 0.001 (action - 1) - 0.0025 cos(3 pos), |v| at most \
0.07, then pos += v; at the left wall the car stops. Episodes begin at rest with pos between -0.6 and -0.4.

Arguments: `pos` (float), `v` (float, position units per step), `last_action` (int).
Return an int: 0 pushes left, 1 does not push, 2 pushes right.
{PROTOCOL.format(neutral=WORLD.actions.neutral, gym_id=WORLD.gym_id, horizon=WORLD.horizon)}
How it is scored: the cost of an episode is steps / 200 if the goal is reached, otherwise 1 + 0.5 - the greatest position reached. The \
score is minus the mean cost, so a higher score is better.
"""


build = loader(CarMountain, ControlOptions)
"""Build the task."""
