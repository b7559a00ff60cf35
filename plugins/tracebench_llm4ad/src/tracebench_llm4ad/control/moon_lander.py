"""Land a craft gently between two flags with four engine commands."""

from __future__ import annotations

import math

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.control.actions import Choice
from tracebench_llm4ad.control.episode import Episode, World
from tracebench_llm4ad.control.evaluator import PROTOCOL, ReturnEvaluator
from tracebench_llm4ad.control.options import ControlOptions

WORLD = World(
    gym_id="LunarLander-v3",
    observed=("xc", "yc", "xv", "yv", "a", "av", "lc", "rc"),
    actions=Choice(("no engine", "left engine", "main engine", "right engine"), neutral=0),
    horizon=1000,
    distance=lambda observation: math.hypot(observation[0], observation[1]),
)


class MoonLander(ReturnEvaluator):
    """LunarLander-v3, discrete, without wind."""

    name = "machine_learning/moon_lander"
    world = WORLD
    program = '''
def choose_action(
    xc: float, yc: float, xv: float, yv: float, a: float, av: float, lc: float, rc: float, last_action: int
) -> int:
    """Return the engine to fire: 0 (none), 1 (left), 2 (main) or 3 (right)."""
    return 0
'''
    bound_source = "a PD controller on tilt and descent"
    objective = f"""
Write the policy `choose_action` that lands a craft on a pad at the origin. The craft falls from the top of the picture with a random \
push; the pad is flat, between two flags, the ground around it is random.

Arguments, all floats but the last: `xc`, `yc` = position relative to the pad (yc is 0 at rest on the pad, about 1.4 at the start; \
beyond |xc| = 1 the craft is lost); `xv`, `yv` = velocity (yv < 0 is falling); `a` = tilt in rad (positive: turned to the left, \
counter-clockwise), `av` = its rate, scaled; `lc`, `rc` = 1.0 while the left, the right leg touches the ground, else 0.0; `last_action` \
(int).
Return an int: 0 fires no engine, 1 the left engine (turns the craft counter-clockwise), 2 the main engine (pushes along the craft's own \
upward axis), 3 the right engine (turns it clockwise), for 0.02 s.
{PROTOCOL.format(neutral=WORLD.actions.neutral, gym_id=WORLD.gym_id, horizon=WORLD.horizon)}
How it is scored: by the sum of the environment's rewards in an episode: a step earns the change of -100 |position| - 100 |velocity| - \
100 |a| + 10 (lc + rc), less 0.3 while the main engine fires and 0.03 while a side engine does; a crash or a flight off the sides costs \
100 and ends the episode, coming to rest earns 100. The score is the mean sum over episodes; higher is better, and 200 counts as solved.
"""

    def outcome(self, episode: Episode) -> str:
        """Say whether the craft landed, crashed or still flew."""
        where = f"{math.hypot(*episode.last[:2]):.3g} from the pad"
        if not episode.ended:
            return f"The craft was still not at rest after {episode.steps} steps, {where}."
        landed = episode.last_reward > 0
        return f"The craft {'came to rest' if landed else 'crashed or flew off'} at step {episode.steps}, {where}."


build = loader(MoonLander, ControlOptions)
"""Build the task."""
