"""POLCA: a priority search that evaluates a proposal only when it lies far enough from everything that it knows.

Source: POLCA (arXiv 2603.14769) and OpenTrace's `opto.trainer.algorithms.polca.POLCA`: new candidates enter an
epsilon-net in an embedding space, farthest first. What differs, and why:

* the test comes before the evaluation, so that near-copies cost nothing; OpenTrace evaluates them and drops them from
  its memory afterwards;
* distance is the share of a candidate that was edited, or that of any embedding that is named; OpenTrace's needs an
  embedding service and waits minutes without one, and a fixed epsilon there takes one changed constant in a long
  program for a copy;
* epsilon is a part of the median distance at which this search's proposals fall, so that it fits programs of any
  length, and the farthest proposal of a step is always tried;
* what is dropped is counted: `proposal_near_copy` in the job's record;
* there is no summariser: a proposer sees the evaluations of a candidate's lineage, and has no place for a free text
  of another model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, Ref, TaskShape, Values
from tracebench_opto.parts.novelty import EmbeddedDistance, Net, edit_distance
from tracebench_opto.parts.search import Search
from tracebench_opto.trainers import priority_search


class Settings(priority_search.Settings):
    """Settings of POLCA."""

    epsilon: float = Field(default=0.25, ge=0)
    """Least distance to any known candidate, in units of the median distance of all proposals; 0 keeps all that differ."""
    embedding: Ref | None = None
    """`package.module:callable`, from a list of texts to a list of vectors of one length; None for the share that was edited."""


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

        priority_search.PrioritySearch(self.settings, keep=keep).train(problem)

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
    return priority_search.estimate_cost(settings, shape)
