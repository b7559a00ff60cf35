"""POLCA: a priority search that evaluates a proposal only when it lies far enough from everything that it knows.

Source: POLCA (arXiv 2603.14769) and OpenTrace's `opto.trainer.algorithms.polca.POLCA`: new candidates enter an
epsilon-net in an embedding space, farthest first. What differs, and why:

* the test comes before the evaluation, so that near-copies cost nothing; OpenTrace evaluates them and drops them from
  its memory afterwards;
* the embedding is any callable, a local lexical one by default; OpenTrace's needs an embedding service and waits
  minutes without one;
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
from tracebench_opto.parts.archive import Archive
from tracebench_opto.parts.embedding import Embedding, describe_values, distance
from tracebench_opto.trainers import priority_search

DEFAULT_EMBEDDING = "tracebench_opto.parts.embedding:embed_lexically"


class Settings(priority_search.Settings):
    """Settings of POLCA."""

    epsilon: float = Field(default=0.05, ge=0)
    """Least Euclidean distance to any known candidate; 0 keeps all that differ."""
    embedding: Ref = DEFAULT_EMBEDDING
    """`package.module:callable`, from a list of texts to a list of vectors of one length."""


class Net:
    """The epsilon-net of a search: embeds each candidate once."""

    def __init__(self, embedding: Embedding, *, epsilon: float) -> None:
        self._embedding = embedding
        self._epsilon = epsilon
        self._vectors: dict[str, Sequence[float]] = {}

    def admit(self, archive: Archive, proposals: list[Values]) -> list[Values]:
        """Return the proposals that are more than epsilon from every candidate and from each other, farthest first."""
        if not self._epsilon or not proposals:
            return proposals
        known = self._embed([e.candidate.values for e in archive])
        offered = self._embed(proposals)
        admitted: list[Values] = []
        left = list(range(len(proposals)))
        while left:
            gaps = {i: min((distance(offered[i], k) for k in known), default=float("inf")) for i in left}
            farthest = max(left, key=lambda i: (gaps[i], -i))
            if gaps[farthest] <= self._epsilon:
                break
            admitted.append(proposals[farthest])
            known.append(offered[farthest])
            left.remove(farthest)
        return admitted

    def _embed(self, candidates: Sequence[Values]) -> list[Sequence[float]]:
        texts = [describe_values(values) for values in candidates]
        new = sorted(set(texts) - self._vectors.keys())
        if new:
            self._vectors.update(zip(new, self._embedding(new), strict=True))
        return [self._vectors[text] for text in texts]


@dataclass(frozen=True, slots=True)
class POLCA:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        module, _, name = self.settings.embedding.partition(":")
        net = Net(getattr(import_module(module), name), epsilon=self.settings.epsilon)
        priority_search.PrioritySearch(self.settings, keep=net.admit).train(problem)


def build(settings: Settings) -> POLCA:
    """Return the trainer."""
    return POLCA(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use when no proposal is a near-copy."""
    return priority_search.estimate_cost(settings, shape)
