"""The baselines of every honest comparison: nothing, chance, independent samples, one refinement after another.

Simple baselines match elaborate pipelines surprisingly often (arXiv 2602.16805), so each run should hold them at equal budget.
"""

from __future__ import annotations

from tracebench_core.builtin.settings import (
    BestOfNSettings,
    NoOpSettings,
    RandomSearchSettings,
    SequentialRefineSettings,
)
from tracebench_core.contracts import Problem
from tracebench_core.llm.stub.mutate import mutate
from tracebench_core.specs import Evaluation, Values


class NoOp:
    """Evaluates the initial candidate and stops: what the score is without any optimisation, noise included."""

    def __init__(self, settings: NoOpSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Evaluate the initial candidate on all of train."""
        with problem.step():
            problem.evaluate(problem.initial, origin="initial")


class RandomSearch:
    """Hill climbing by random changes: each step changes the best candidate in several ways and keeps the best. No model is asked."""

    def __init__(self, settings: RandomSearchSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Search for the set number of steps."""
        problem.evaluate(problem.initial, origin="initial")
        for _ in range(self.settings.num_steps):
            with problem.step():
                parent = problem.best
                proposals = [self._changed(problem, parent.values) for _ in range(self.settings.num_proposals)]
                problem.evaluate_many(proposals, parents=[parent], origin="random change")

    @staticmethod
    def _changed(problem: Problem, values: Values) -> Values:
        parameter = problem.rng.choice(problem.parameters)
        changed = mutate(values[parameter.name], problem.rng, hint=parameter.model_dump(mode="json"))
        return {**values, parameter.name: changed}


class BestOfN:
    """Draws proposals that do not know of one another, all from the initial candidate's feedback, and keeps the best."""

    def __init__(self, settings: BestOfNSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Draw and evaluate `n` proposals."""
        first = problem.evaluate(problem.initial, origin="initial")
        for _ in range(self.settings.n):
            with problem.step():
                for values in problem.optimizer().propose([first]):
                    problem.evaluate(values, parents=[first.candidate], origin="sample")


class SequentialRefine:
    """Improves the last candidate by its own feedback, again and again; a step that makes things worse is refined all the same."""

    def __init__(self, settings: SequentialRefineSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Refine for the set number of steps."""
        optimizer = problem.optimizer()
        lineage: list[Evaluation] = [problem.evaluate(problem.initial, origin="initial")]
        for _ in range(self.settings.num_steps):
            with problem.step():
                for values in optimizer.propose(lineage):
                    lineage.append(problem.evaluate(values, parents=[lineage[-1].candidate], origin="refinement"))
