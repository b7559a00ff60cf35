"""Sequence: one trainer after another, each from the best candidate so far: A finds the hill, B climbs it.

Source: the hand-over from a global to a local search of memetic algorithms (Moscato, Caltech report 826, 1989).
A trainer hands over after its share of the budget or when it found nothing better for some steps; the last one goes
on to the cap. All evaluations are in one archive: the winner is the best of all. OpenTrace has no such trainer. A
trainer that stops by itself hands over at once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, Spec, TaskShape
from tracebench_opto.parts.cost import estimate_steps
from tracebench_opto.parts.lessons import Difficulty, Stage, StageOver
from tracebench_opto.parts.relay import BATCH, Member, until


class Leg(Member):
    """One trainer of the sequence."""

    share: float | None = Field(default=None, gt=0, le=1)
    """Part of the job's budget that it may use; as much as is left when None."""
    patience: int | None = Field(default=None, ge=1)
    """Steps without a new best candidate after which it hands over; any number when None."""


class Settings(Spec):
    """Settings of Sequence."""

    legs: tuple[Leg, ...] = Field(
        default=(Leg(trainer="Anneal", share=0.5), Leg(trainer="PrioritySearch")), min_length=1
    )
    """In order. All but the last need a `share` or a `patience`, or nothing is left for the next."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the trainers one after another."""
        difficulty = Difficulty()
        for leg in self.settings.legs:
            over = until(problem, share=leg.share, patience=leg.patience)
            stage = Stage(problem, problem.train, difficulty=difficulty, over=over)
            with suppress(StageOver):
                problem.trainer(leg.trainer, leg.params).train(stage)


def build(settings: Settings) -> Sequence:
    """Return the trainer."""
    return Sequence(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return a rough estimate: ten steps of one proposal for each trainer, each measured where candidates are compared."""
    judged = shape.validation or shape.train
    return estimate_steps(10 * len(settings.legs), proposals=1, evaluations=judged + BATCH, start=judged)
