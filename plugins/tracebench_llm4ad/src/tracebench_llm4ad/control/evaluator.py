"""What the five tasks share: an instance is the seed of an episode, a solution is the episode that the policy steered."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.control.episode import Episode, World, describe, play
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Heuristic, Verdict
from tracebench_llm4ad.heuristic import load_trusted

PROTOCOL = """
How it is played: one instance is one episode from a random initial state, drawn by a fixed seed. At every step the function is called \
with the current observation and with `last_action`, the action it gave one step before ({neutral} at the first step), and its answer is \
carried out. The environment runs elsewhere and is the standard one of gymnasium, `{gym_id}`, with at most {horizon} steps. All episodes \
of a batch call the same running program one after the other, so values kept in global variables live on into the next episode.
"""


class ControlEvaluator(Evaluator[int]):
    """A policy steers a gymnasium environment; each episode is priced from what the environment did."""

    entry: ClassVar[str] = "choose_action"
    world: ClassVar[World]

    def generate(self, rng: np.random.Generator) -> int:
        """Draw the seed of an episode, uniform in 31 bits; gymnasium draws the initial state from it."""
        return int(rng.integers(2**31))

    def solve(self, instance: int, heuristic: Heuristic) -> Episode:
        """Play the episode; the environment and its rewards never leave this process."""
        return play(self.world, heuristic, seed=instance)

    def bound(self, instance: int) -> float:
        """Return what the baseline, a known good policy, attains on the same episode."""
        baseline = load_trusted(load_baseline(self.name), self.entry)
        return self.judge(instance, self.solve(instance, baseline)).value

    def draw(self, instance: int, solution: Any) -> Drawing:
        """Draw what was done at every step."""
        points = [*enumerate(solution.actions)]
        drawing = kinds.series(points, across="step", up="action")
        drawing.note = f"{solution.steps} steps, return {solution.reward:.4g}"
        return drawing

    def recount(self, episode: Episode) -> str:
        """Say where the episode began and ended and what was done in it."""
        return (
            f"It began at {describe(self.world, episode.first)} and ended after {episode.steps} steps at "
            f"{describe(self.world, episode.last)}; {self.world.actions.tally(episode.actions)}."
        )


class GoalEvaluator(ControlEvaluator):
    """Episodes with a goal: `cost` is steps / horizon when it is reached, else 1 + the least distance from it."""

    distance_words: ClassVar[str]
    """What the distance is, with its unit."""

    def judge(self, instance: int, solution: Any) -> Verdict:
        """Price an episode."""
        episode: Episode = solution
        horizon = self.world.horizon
        cost = episode.steps / horizon if episode.ended else 1.0 + episode.nearest
        outcome = (
            f"The goal was reached at step {episode.steps} of {horizon}."
            if episode.ended
            else f"The goal was not reached in {horizon} steps; {self.distance_words} came down to {episode.nearest:.4g}."
        )
        metrics = {"steps": float(episode.steps), "solved": float(episode.ended), "return": episode.reward}
        return Verdict(value=cost, note=f"{outcome} {self.recount(episode)}", metrics=metrics)


class ReturnEvaluator(ControlEvaluator):
    """Episodes priced by `return`, the sum of the environment's own rewards."""

    def judge(self, instance: int, solution: Any) -> Verdict:
        """Price an episode."""
        episode: Episode = solution
        return Verdict(
            value=episode.reward,
            note=f"{self.outcome(episode)} {self.recount(episode)}",
            metrics={"steps": float(episode.steps)},
        )

    @abstractmethod
    def outcome(self, episode: Episode) -> str:
        """Say in words how the episode ended."""
