"""The trainer `KeepBest`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core import trainer
from tracebench_core.contracts import Problem
from tracebench_core.specs import Evaluation


class KeepBestSettings(BaseModel):
    """What a config may set; a misspelled name is refused with the nearest one."""

    model_config = ConfigDict(extra="forbid")

    num_steps: int = Field(default=8, ge=1)
    batch_size: int = Field(default=4, ge=1)
    """Examples of train that a step looks at."""


@trainer(title="Hill climbing: one proposal at a time; what is worse is dropped", default_optimizer="Reflective")
class KeepBest:
    """Hill climbing: each step asks the proposer for an improvement, and moves to it unless it is worse on the same examples."""

    def __init__(self, settings: KeepBestSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Search. Budgets, seeds, records and which candidate wins are the problem's business, not ours."""
        optimizer = problem.optimizer()
        current = problem.initial
        for _ in range(self.settings.num_steps):
            with problem.step():
                batch = problem.rng.sample(problem.train, min(self.settings.batch_size, len(problem.train)))
                before = problem.evaluate(current, batch, origin="current")
                for values in optimizer.propose([before]):
                    after = problem.evaluate(values, batch, parents=[before.candidate], origin="climb")
                    if is_worse(after, before):
                        problem.decide(after.candidate, "rejected", "worse on the same examples")
                        continue
                    problem.decide(after.candidate, "accepted")
                    current = values
                    if problem.validation:  # so that the winner is chosen by examples that no proposal was made from
                        problem.evaluate(values, problem.validation, origin="climb")


def is_worse(after: Evaluation, before: Evaluation) -> bool:
    """Compare scores; None means that a candidate could not be measured, and is not a zero."""
    return after.score is None or (before.score is not None and after.score < before.score)
