"""POLCA: a priority search that evaluates a proposal only when it lies far enough from everything that it knows, and tells its proposer
what good and bad candidates of the whole memory have taught.

Source: POLCA (arXiv 2603.14769) and OpenTrace's `opto.trainer.algorithms.polca.POLCA`: new candidates enter an epsilon-net in an
embedding space, farthest first, and a summariser, a model, turns the memory into a short context for the next proposals. What differs,
and why:

* the test comes before the evaluation, so that near-copies cost nothing; OpenTrace evaluates them and drops them from its memory
  afterwards;
* distance is the share of a candidate that was edited, or that of any embedding that is named; OpenTrace's needs an embedding service and
  waits minutes without one, and a fixed epsilon there takes one changed constant in a long program for a copy;
* epsilon is a part of the median distance at which this search's proposals fall, so that it fits programs of any length, and the farthest
  proposal of a step is always tried;
* what is dropped is counted: `proposal_near_copy` in the job's record;
* a summary is a call of the model, which the paper does not count: here it is paid for like any other. With `variant: budget` summaries
  cost a tenth of the calls, with `paper` one is made in every step; the proposer sees the last one until the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, CostEstimate, Range, Ref, TaskShape, Values
from tracebench_opto.parts.novelty import EmbeddedDistance, Net, edit_distance
from tracebench_opto.parts.search import Search
from tracebench_opto.parts.summary import Summariser
from tracebench_opto.trainers import priority_search

PART = 10
"""With `variant: budget`, one in as many calls is a summary."""


class Settings(priority_search.Settings):
    """Settings of POLCA."""

    epsilon: float = Field(default=0.25, ge=0)
    """Least distance to any known candidate, in units of the median distance of all proposals; 0 keeps all that differ."""
    summary_frequency: int | None = Field(default=None, ge=0)
    """Steps between two summaries; 0 for none. When None: 1 with `variant: paper`, else as many as make one in ten calls a summary."""
    embedding: Ref | None = None
    """`package.module:callable`, from a list of texts to a list of vectors of one length; None for the share that was edited."""

    def summarised(self, budget: Budget) -> int:
        """Return the steps between two summaries; 0 for none."""
        if self.summary_frequency is not None or self.variant == "paper":
            return 1 if self.summary_frequency is None else self.summary_frequency
        candidates, proposals = self.broad(budget)
        return -(-(PART - 1) // (candidates * proposals * self.num_batches))


@dataclass(frozen=True, slots=True)
class POLCA:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        net = self._net()

        def keep(search: Search, proposals: Sequence[Values]) -> list[Values]:
            kept = net.admit([entry.candidate.values for entry in search.archive], proposals)
            if len(kept) < len(proposals):
                problem.log("proposal_near_copy", len(proposals) - len(kept))
            return kept

        summariser = Summariser(every=self.settings.summarised(problem.budget.caps))
        priority_search.PrioritySearch(self.settings, keep=keep, tell=summariser.told).train(problem)

    def _net(self) -> Net:
        if self.settings.embedding is None:
            return Net(edit_distance, epsilon=self.settings.epsilon)
        module, _, name = self.settings.embedding.partition(":")
        return Net(EmbeddedDistance(getattr(import_module(module), name)), epsilon=self.settings.epsilon)


def build(settings: Settings) -> POLCA:
    """Return the trainer."""
    return POLCA(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use when no proposal is a near-copy."""
    searched, every = priority_search.estimate_cost(settings, shape), settings.summarised(shape.budget)
    if not every:
        return searched
    candidates, proposals = settings.broad(shape.budget)
    more = 1 + 1 / (every * candidates * proposals * settings.num_batches)
    calls = Range(**{level: amount * more for level, amount in searched.llm_calls.model_dump().items()})
    return searched.model_copy(update={"llm_calls": calls})
