"""The trainer `Kepttrainer`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import comparison_set


class Settings(BaseModel):
    """What a config may set; a misspelled name is refused with the nearest one."""

    model_config = ConfigDict(extra="forbid")

    num_steps: int = Field(default=30, ge=1)
    num_proposals: int = Field(default=1, ge=1)
    """Proposals of one step."""
    validation_size: int = Field(default=24, ge=1)
    """Examples on which candidates are compared: of validation, so that the winner is not chosen by what it was made from."""


class Kepttrainer:
    """Each step asks the proposer to improve the best candidate, and goes on from whatever is better on validation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Search. Budgets, seeds, records and which candidate wins are the problem's business, not ours."""
        optimizer = problem.optimizer()
        contest = comparison_set(problem, self.settings.validation_size)
        best = problem.evaluate(problem.initial, contest, origin="initial")
        for _ in range(self.settings.num_steps):
            with problem.step():
                batch = problem.rng.sample(problem.train, min(4, len(problem.train)))
                seen = problem.evaluate(best.candidate.values, batch, origin="look")
                for values in optimizer.propose([seen], n=self.settings.num_proposals):
                    found = problem.evaluate(values, contest, parents=[best.candidate], origin="climb")
                    if found.score is not None and (best.score is None or found.score > best.score):
                        problem.decide(found.candidate, "accepted")
                        best = found
                    else:
                        problem.decide(found.candidate, "rejected", "no better on validation")
