"""Portfolio: several trainers take turns on one problem, and whoever finds better candidates gets more of the budget.

Source: algorithm portfolios with a bandit for a scheduler (Gagliolo and Schmidhuber, AAAI workshop 2006; UCB1, Auer et al. 2002).
A turn is a few steps from the best candidate so far, whoever found it. Who is next is chosen by UCB1 (Auer et al.
2002) on the part of a trainer's turns that found a new best candidate. All evaluations are in one archive. OpenTrace
has no such trainer. A trainer starts anew in every turn, so that what it knows beyond the best candidate (a queue, a
frontier, a temperature) lasts for one turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.schedule import schedule
from tracebench_core.specs import CostEstimate, Spec, TaskShape
from tracebench_opto.parts.cost import estimate_steps
from tracebench_opto.parts.lessons import Difficulty, Stage, StageOver
from tracebench_opto.parts.relay import BATCH, Member


class Settings(Spec):
    """Settings of Portfolio."""

    members: tuple[Member, ...] = Field(
        default=(Member(trainer="PrioritySearch"), Member(trainer="GEPA-Base"), Member(trainer="Anneal")), min_length=1
    )
    num_turns: int | None = Field(default=None, ge=1)
    """Turns in all; when None, three for each trainer, and more to a cap."""
    turn_steps: int = Field(default=5, ge=1)
    """Steps of a turn."""
    exploration: float = Field(default=0.5, ge=0)
    """Of the confidence bound."""


@dataclass(frozen=True, slots=True)
class Portfolio:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Give turns until they are over or the budget is spent."""
        cfg = self.settings
        turns, finds = [0] * len(cfg.members), [0] * len(cfg.members)
        difficulty = Difficulty()
        for _ in schedule(problem, cfg.num_turns, default=3 * len(cfg.members)):
            chosen = choose(turns, finds, exploration=cfg.exploration)
            member, best = cfg.members[chosen], problem.best.id
            stage = Stage(problem, problem.train, difficulty=difficulty, steps=cfg.turn_steps)
            with suppress(StageOver):
                problem.trainer(member.trainer, member.params).train(stage)
            turns[chosen] += 1
            finds[chosen] += problem.best.id != best
            problem.log(f"portfolio_turns_{chosen}_{member.trainer}", turns[chosen])


def choose(turns: Sequence[int], finds: Sequence[int], *, exploration: float) -> int:
    """Return who is next by UCB1: first everyone once, then the highest bound on the part of turns that found something."""
    if 0 in turns:
        return [*turns].index(0)
    total = sum(turns)
    bounds = [f / t + exploration * math.sqrt(2 * math.log(total) / t) for t, f in zip(turns, finds, strict=True)]
    return bounds.index(max(bounds))


def build(settings: Settings) -> Portfolio:
    """Return the trainer."""
    return Portfolio(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return a rough estimate: one proposal per step, measured where candidates are compared, and the best measured again at every turn."""
    judged = shape.validation or shape.train
    turns = settings.num_turns or 3 * len(settings.members)
    return estimate_steps(
        turns * settings.turn_steps, proposals=1, evaluations=judged + BATCH, start=judged, extra=(turns - 1) * judged
    )
