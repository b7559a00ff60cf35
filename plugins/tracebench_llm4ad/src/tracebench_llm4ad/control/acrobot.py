"""Swing the tip of a two-link pendulum over a line by a torque at its middle joint."""

from __future__ import annotations

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.control.actions import Choice
from tracebench_llm4ad.control.episode import Observation, World
from tracebench_llm4ad.control.evaluator import PROTOCOL, GoalEvaluator
from tracebench_llm4ad.control.options import ControlOptions


def height_missing(observation: Observation) -> float:
    """Return how much the tip lacks to the goal line, in link lengths: 1 + cos t1 + cos(t1 + t2), not below 0."""
    cos1, sin1, cos2, sin2 = observation[:4]
    return max(0.0, 1.0 + cos1 + cos1 * cos2 - sin1 * sin2)


WORLD = World(
    gym_id="Acrobot-v1",
    observed=("ct1", "st1", "ct2", "st2", "avt1", "avt2"),
    actions=Choice(("torque -1", "no torque", "torque +1"), neutral=1),
    horizon=500,
    distance=height_missing,
)


class Acrobot(GoalEvaluator):
    """Acrobot-v1, 0.2 s a step."""

    name = "machine_learning/acrobot"
    world = WORLD
    distance_words = "what the tip lacked to the goal line (in link lengths)"
    program = '''
def choose_action(ct1: float, st1: float, ct2: float, st2: float, avt1: float, avt2: float, last_action: int) -> int:
    """Return the torque at the joint between the links: 0 (-1 N m), 1 (none) or 2 (+1 N m)."""
    return 2
'''
    bound_source = "the policy that always pushes along the second link's rotation"
    objective = f"""
Write the policy `choose_action` that swings up an acrobot: two links of 1 m and 1 kg hang from a fixed joint in a vertical plane, and a \
torque can be applied only at the joint between them. The goal is reached when the tip is one link length above the fixed joint, \
-cos(t1) - cos(t1 + t2) > 1, where t1 is the first link's angle (0 is straight down) and t2 the second's relative to the first. Episodes \
begin near rest, hanging down (angles and rates within 0.1).

Arguments, all floats but the last: `ct1`, `st1` = cos(t1), sin(t1); `ct2`, `st2` = cos(t2), sin(t2); `avt1`, `avt2` = angular \
velocities of t1 (within 4 pi) and t2 (within 9 pi), in rad/s, positive as the angles grow; `last_action` (int).
Return an int: 0 applies a torque of -1 N m, 1 none, 2 applies +1 N m, for 0.2 s. One push is too weak to lift the links; energy must be \
built up by swinging.
{PROTOCOL.format(neutral=WORLD.actions.neutral, gym_id=WORLD.gym_id, horizon=WORLD.horizon)}
How it is scored: the cost of an episode is steps / 500 if the goal is reached, otherwise 1 + the least height in link lengths that the \
tip lacked to the goal line. The score is minus the mean cost, so a higher score is better.
"""


build = loader(Acrobot, ControlOptions)
"""Build the task."""
