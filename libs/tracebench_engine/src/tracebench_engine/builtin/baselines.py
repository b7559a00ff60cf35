"""The baselines of every honest comparison: nothing, chance, independent samples, one refinement after another.

Simple baselines match elaborate pipelines surprisingly often (arXiv 2602.16805), so each run should hold them at equal budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.contracts import Problem
from tracebench_core.errors import UsageError
from tracebench_core.proposing.mutation import change_one
from tracebench_core.proposing.sampling import comparison_set, draw_subset
from tracebench_core.proposing.schedule import schedule
from tracebench_core.specs import Candidate, Evaluation, Example, Values
from tracebench_engine.builtin.settings import (
    PROPOSALS,
    RANDOM_STEPS,
    BestOfNSettings,
    FeedbackSettings,
    GivenSettings,
    NoOpSettings,
    RandomSearchSettings,
    SequentialRefineSettings,
)


class NoOp:
    """Compares the initial candidate with nothing and stops: what the score is without any optimisation, noise included."""

    def __init__(self, settings: NoOpSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Evaluate the initial candidate."""
        contest = comparison_set(problem, self.settings.validation_size)
        with problem.step():
            problem.evaluate(problem.initial, contest, origin="initial")


class Given:
    """Shows the candidate of its settings, which the engine then measures; it measures and searches nothing itself."""

    def __init__(self, settings: GivenSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Show the candidate."""
        values = {**problem.initial, **self.settings.values}
        if why := problem.check(values):
            raise UsageError(f"{self.settings.name or 'The given candidate'} cannot be evaluated: {why}")
        problem.evaluate(values, (), origin="given")


class RandomSearch:
    """Hill climbing by random changes: each step changes the best candidate in several ways and keeps the best. No model is asked."""

    def __init__(self, settings: RandomSearchSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Search for the set number of steps, or to the cap."""
        contest = comparison_set(problem, self.settings.validation_size)
        change = change_one(problem.parameters)
        problem.evaluate(problem.initial, contest, origin="initial")
        for _ in schedule(problem, self.settings.num_steps, default=RANDOM_STEPS):
            with problem.step():
                parent = problem.best
                proposals = [change(parent.values, problem.rng) for _ in range(self.settings.num_proposals)]
                problem.evaluate_many(proposals, contest, parents=[parent], origin="random change")


class BestOfN:
    """Draws proposals that do not know of one another, all from the initial candidate's feedback, and keeps the best."""

    def __init__(self, settings: BestOfNSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Draw and compare `n` proposals, or as many as the cap allows."""
        bench = _Bench(problem, self.settings)
        first = bench.feedback(problem.initial, bench.compare(problem.initial, origin="initial"))
        for _ in schedule(problem, self.settings.n, default=PROPOSALS):
            with problem.step():
                for values in problem.optimizer().propose([first]):
                    bench.compare(values, parent=first.candidate, origin="sample")


class SequentialRefine:
    """Improves the last candidate by its own feedback, again and again; a step that makes things worse is refined all the same."""

    def __init__(self, settings: SequentialRefineSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Refine for the set number of steps, or to the cap."""
        bench, optimizer = _Bench(problem, self.settings), problem.optimizer()
        lineage = [bench.feedback(problem.initial, bench.compare(problem.initial, origin="initial"))]
        for _ in schedule(problem, self.settings.num_steps, default=PROPOSALS):
            with problem.step():
                for values in optimizer.propose(lineage):
                    compared = bench.compare(values, parent=lineage[-1].candidate, origin="refinement")
                    lineage.append(bench.feedback(values, compared))


class _Bench:
    """Where a baseline compares candidates, and where it takes the feedback for the next proposal from."""

    def __init__(self, problem: Problem, settings: FeedbackSettings) -> None:
        self._problem = problem
        self._contest = comparison_set(problem, settings.validation_size)
        self._batch: Sequence[Example] = ()
        if problem.validation:
            self._batch = draw_subset(problem.train, settings.train_batch_size, rng=problem.rng)

    def compare(self, values: Values, *, parent: Candidate | None = None, origin: str) -> Evaluation:
        """Measure a candidate where all are compared."""
        parents = [] if parent is None else [parent]
        return self._problem.evaluate(values, self._contest, parents=parents, origin=origin)

    def feedback(self, values: Values, compared: Evaluation) -> Evaluation:
        """Return what a proposer may see of a candidate: its results on train, where all are compared when there is no validation."""
        return self._problem.evaluate(values, self._batch, origin="feedback") if self._batch else compared
