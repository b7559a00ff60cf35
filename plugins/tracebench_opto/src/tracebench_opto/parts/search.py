"""One search on one problem: its steps, its evaluations filed in an archive, and proposals that survive a failing model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from pydantic import Field

from tracebench_core.errors import ModelError
from tracebench_core.protocols import Problem
from tracebench_core.specs import Evaluation, Example, Spec, Values
from tracebench_opto.parts.archive import Archive, Entry
from tracebench_opto.parts.objectives import ObjectiveConfig, resolve_goal
from tracebench_opto.parts.sampling import Minibatches

log = logging.getLogger(__name__)

UNCAPPED_STEPS = 10
"""Steps of a search that has neither a number of steps nor a budget to spend."""
CAPPED_STEPS = 10_000
"""A bound no budget should reach: it ends a search whose budget lies on an axis that the search does not use."""
IDLE_STEPS = 20
"""Steps in a row without a new candidate after which a search gives up."""
MODEL_FAILURES = 5
"""Failed requests in a row after which the model counts as gone."""
HOPELESS = frozenset({"auth", "request", "replay_miss"})
"""Kinds of model error that the next request would meet again."""


class SearchSettings(Spec):
    """What every search trainer takes.

    A search ends after `num_steps` steps and `num_epochs` passes over train, whichever is later. With neither, it ends when the budget is
    spent, or after 10 steps when evaluations, calls, tokens and seconds are all free.
    """

    num_steps: int | None = Field(default=None, ge=0)
    num_epochs: int | None = Field(default=None, ge=0)
    train_batch_size: int = Field(default=2, ge=1)
    """Examples of train whose feedback one proposal sees."""
    num_threads: int | None = Field(default=None, ge=1)
    """At most this many candidates are handed over for evaluation at a time; None for no limit. Changes nothing but time."""
    verbose: bool = False
    """Log every step at level INFO instead of DEBUG."""
    objective_config: ObjectiveConfig = ObjectiveConfig()

    def planned_steps(self, train: int, *, batches_per_step: int = 1) -> int | None:
        """Return the number of steps on `train` examples, or None when the budget decides."""
        if self.num_steps is None and self.num_epochs is None:
            return None
        per_pass = -(-train // (min(self.train_batch_size, max(train, 1)) * batches_per_step))
        return max(self.num_steps or 0, (self.num_epochs or 0) * per_pass)


class Search:
    """The state of one search. Trainers say what to select; everything else about a step is here."""

    def __init__(
        self, problem: Problem, settings: SearchSettings, *, batches_per_step: int = 1, use_validation: bool = True
    ) -> None:
        self.problem = problem
        self.settings = settings
        validated = bool(problem.validation) and use_validation
        self.selection = tuple(problem.validation if validated else problem.train)
        """The examples on which candidates are compared: validation, or train where there is none."""
        self.archive = Archive(
            resolve_goal(settings.objective_config, problem.objectives), split="validation" if validated else "train"
        )
        self.batches = Minibatches(problem.train, settings.train_batch_size, rng=problem.rng)
        self.proposer = problem.optimizer()
        self._batches_per_step = batches_per_step
        self._failures = 0

    def schedule(self) -> Iterator[int]:
        """Yield once per step that is still to do; the caller marks the step with `problem.step()`."""
        idle = 0
        for index in range(self._steps()):
            before = len(self.archive)
            yield index
            level = logging.INFO if self.settings.verbose else logging.DEBUG
            log.log(level, "step %s: %s candidates, best %s", index, len(self.archive), self.problem.best.id)
            idle = 0 if len(self.archive) > before else idle + 1
            if idle == IDLE_STEPS:
                log.warning("no new candidate in %s steps: the search ends", IDLE_STEPS)
                return

    def seed(self, examples: Sequence[Example]) -> Entry:
        """Evaluate the initial candidate once."""
        return self.evaluate([self.problem.initial], examples, origin="initial")[0]

    def evaluate(
        self,
        candidates: Sequence[Values],
        examples: Sequence[Example],
        *,
        parent: Entry | None = None,
        partner: Entry | None = None,
        origin: str = "",
    ) -> list[Entry]:
        """Evaluate candidates on the same examples and file the results; order kept."""
        parents = [e.candidate.id for e in (parent, partner) if e is not None]
        remaining, entries = iter(candidates), []
        size = self.settings.num_threads or max(len(candidates), 1)
        while chunk := list(islice(remaining, size)):
            done = self.problem.evaluate_many(chunk, examples, parents=parents, origin=origin)
            entries += [self.archive.add(evaluation, parent=parent) for evaluation in done]
        return entries

    def measure(self, entry: Entry, examples: Sequence[Example], *, again: bool = False) -> Evaluation:
        """Return an evaluation of a known candidate on exactly `examples`: the newest one, or a new one if there is none or `again`."""
        ids = [e.id for e in examples]
        known = (e for e in reversed(entry.evaluations) if [r.example for r in e.results] == ids)
        found = None if again else next(known, None)
        if found is not None:
            return found
        self.evaluate([entry.candidate.values], examples, origin="resample")
        return entry.evaluations[-1]

    def judging(self, batch: Sequence[Example]) -> Sequence[Example]:
        """Return where candidates made from `batch` are compared: all of validation, or this batch of train where there is none."""
        return self.selection if self.archive.split == "validation" else batch

    def propose(
        self, entry: Entry, evaluation: Evaluation, *, n: int, history: Sequence[Evaluation] | None = None
    ) -> list[Values]:
        """Return up to `n` new assignments made from this feedback: none twice, none that the search has met before.

        `history` is what the proposer sees before `evaluation`; by default the last evaluation of each ancestor.

        Raises:
            ModelError: when the model is gone: the error is of a kind that stays, or 5 requests in a row failed.
        """
        past = [e.evaluations[-1] for e in entry.lineage()[:-1]] if history is None else list(history)
        try:
            proposals = self.proposer.propose([*past, evaluation], n=n)
        except ModelError as err:
            self._failures += 1
            if err.kind in HOPELESS or self._failures >= MODEL_FAILURES:
                raise
            log.warning("no proposal, the model failed (%s of %s): %s", self._failures, MODEL_FAILURES, err)
            return []
        self._failures = 0
        return self.fresh(proposals)

    def fresh(self, proposals: Sequence[Values]) -> list[Values]:
        """Return the proposals that may be evaluated and that are new, each once."""
        new: list[Values] = []
        for values in proposals:
            if values not in new and self.archive.find(values) is None and not self.problem.check(values):
                new.append(values)
        return new

    def _steps(self) -> int:
        planned = self.settings.planned_steps(len(self.problem.train), batches_per_step=self._batches_per_step)
        if planned is not None:
            return planned
        spendable = {"evaluations", "llm_calls", "tokens", "seconds"} & self.problem.budget.caps.caps().keys()
        return CAPPED_STEPS if spendable else UNCAPPED_STEPS
