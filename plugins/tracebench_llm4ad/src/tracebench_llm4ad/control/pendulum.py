"""Swing up a pendulum and hold it upright with a bounded torque."""

from __future__ import annotations

import math

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.control.actions import Force
from tracebench_llm4ad.control.episode import Episode, World
from tracebench_llm4ad.control.evaluator import PROTOCOL, ReturnEvaluator
from tracebench_llm4ad.control.options import ControlOptions

WORLD = World(
    gym_id="Pendulum-v1",
    observed=("x", "y", "av"),
    actions=Force(-2.0, 2.0),
    horizon=200,
    distance=lambda observation: abs(math.atan2(observation[1], observation[0])),
)


class Pendulum(ReturnEvaluator):
    """Pendulum-v1, 0.05 s a step."""

    name = "machine_learning/pendulum"
    world = WORLD
    program = '''
def choose_action(x: float, y: float, av: float, last_action: float) -> float:
    """Return the torque on the pendulum, from -2.0 to 2.0 N m."""
    return 0.0
'''
    bound_source = "energy pumping with a PD controller near the top"
    objective = f"""
Write the policy `choose_action` that swings up a pendulum and keeps it upright. A rod of 1 m and 1 kg turns freely about one end under \
gravity (10 m/s^2); its angle t is 0 when it points straight up. A torque u of at most 2 N m acts at the joint, too weak to lift the rod \
directly from below. Each step of 0.05 s: av += (15 sin(t) + 3 u) * 0.05, |av| at most 8, then t += 0.05 av. Episodes begin at any angle \
with |av| up to 1 and last 200 steps; nothing ends them early.

Arguments, all floats: `x` = cos(t), `y` = sin(t), `av` = angular velocity in rad/s, `last_action` = the torque of one step before.
Return a float, the torque u between -2.0 and 2.0; a number beyond is cut to that range.
{PROTOCOL.format(neutral=WORLD.actions.neutral, gym_id=WORLD.gym_id, horizon=WORLD.horizon)}
How it is scored: a step costs t^2 + 0.1 av^2 + 0.001 u^2 with t between -pi and pi; the return of an episode is minus the sum of its \
costs. The score is the mean return: it is negative, and closer to 0 is better.
"""

    def outcome(self, episode: Episode) -> str:
        """Say how close to upright the rod came and where it ended."""
        angle = math.atan2(episode.last[1], episode.last[0])
        return f"The rod came within {episode.nearest:.3g} rad of upright and was {abs(angle):.3g} rad away from it at the end."


build = loader(Pendulum, ControlOptions)
"""Build the task."""
