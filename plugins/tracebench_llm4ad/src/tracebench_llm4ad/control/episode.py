"""One seeded episode: the environment asks a policy, step by step, and keeps what the feedback needs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tracebench_llm4ad.control.actions import Choice, Force
from tracebench_llm4ad.evaluator import Heuristic

Observation = Sequence[float]


@dataclass(frozen=True, slots=True)
class World:
    """One gymnasium environment and how its observations and actions are handed to a policy."""

    gym_id: str
    observed: tuple[str, ...]
    """Names of the observation's numbers, in order; the policy gets them and then `last_action`."""
    actions: Choice | Force
    horizon: int
    """Steps after which an episode ends."""
    distance: Callable[[Observation], float]
    """How far an observation is from the goal, 0 at the goal or where there is none."""

    def make(self) -> Any:
        """Build the environment, unseeded. Its libraries warn of their own age while they load; that is not ours to show."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import gymnasium  # noqa: PLC0415 - an extra, and nothing else here needs it

            return gymnasium.make(self.gym_id, max_episode_steps=self.horizon)


@dataclass(frozen=True, slots=True)
class Episode:
    """How one episode went. It is made in the trusted process; a candidate never holds one."""

    steps: int
    ended: bool
    """The environment ended it (a goal, a crash), not the horizon."""
    reward: float
    """Sum of the environment's own rewards."""
    last_reward: float
    nearest: float
    """Least distance from the goal."""
    first: tuple[float, ...]
    last: tuple[float, ...]
    """The first and the last observation."""
    actions: tuple[float, ...]


def play(world: World, policy: Heuristic, *, seed: int) -> Episode:
    """Play one episode from the initial state that `seed` draws; raises `invalid(…)` at an answer that is no action."""
    environment = world.make()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _play(world, environment, policy, seed)
    finally:
        environment.close()


def _play(world: World, environment: Any, policy: Heuristic, seed: int) -> Episode:
    raw, _ = environment.reset(seed=seed)
    observation = first = _numbers(raw)
    action: float = world.actions.neutral
    actions: list[float] = []
    rewards: list[float] = []
    nearest = world.distance(observation)
    ended = cut = False
    while not (ended or cut):
        where = partial(_where, world, observation, action, len(actions))
        action = world.actions.read(policy(*observation, action), where=where)
        actions.append(action)
        raw, gained, ended, cut, _ = environment.step(
            action if isinstance(world.actions, Choice) else np.array([action], dtype=np.float32)
        )
        observation = _numbers(raw)
        rewards.append(float(gained))
        nearest = min(nearest, world.distance(observation))
    return Episode(
        steps=len(actions),
        ended=bool(ended),
        reward=math.fsum(rewards),
        last_reward=rewards[-1],
        nearest=nearest,
        first=first,
        last=observation,
        actions=tuple(actions),
    )


def describe(world: World, observation: Observation) -> str:
    """Write an observation as `name=value` pairs."""
    return ", ".join(f"{name}={value:.3g}" for name, value in zip(world.observed, observation, strict=True))


def _where(world: World, observation: Observation, last: float, step: int) -> str:
    return f"at step {step} ({describe(world, observation)}, last_action={last:g})"


def _numbers(raw: Any) -> tuple[float, ...]:
    return tuple(float(x) for x in raw)
