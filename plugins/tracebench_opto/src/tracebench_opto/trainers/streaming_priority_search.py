"""StreamingPrioritySearch: a candidate is measured only when its turn comes, on the batch that it is also improved from.

Source: OpenTrace's `StreamingPrioritySearch` (v0.2.0-alpha): no validation step, new candidates have the highest
priority, parents are drawn by a softmax of their scores. What differs, and why:

* the candidates of the last step are measured too; OpenTrace never looks at them;
* the softmax is scaled by the spread of the scores, since scores have no fixed range;
* the leader's measurements are completed on validation, so that a lucky batch does not make a winner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, Example, TaskShape, Values
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, judged_examples
from tracebench_opto.parts.search import Search, SearchSettings
from tracebench_opto.parts.selection import draw_softmax


class Settings(SearchSettings):
    """Settings of StreamingPrioritySearch."""

    num_candidates: int = Field(default=2, ge=1)
    """Candidates taken per step."""
    num_proposals: int = Field(default=1, ge=1)
    """Proposals for each of them."""
    exploration_ratio: float = Field(default=0.5, ge=0, le=1)
    """Part of the candidates that are drawn, new ones first; the others are the best by mean."""
    exploration_temperature: float = Field(default=1.0, gt=0)
    """Of the softmax, in units of the spread of the scores."""


class Unmeasured(NamedTuple):
    """A proposal whose turn has not come."""

    values: Values
    parent: Entry


@dataclass(frozen=True, slots=True)
class StreamingPrioritySearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        search = Search(problem, self.settings, use_validation=False)
        waiting: list[Unmeasured] = []
        for _ in search.schedule():
            with problem.step():
                batch = search.batches.draw()
                if len(search.archive) == 0:
                    search.seed(batch)
                for parent in self._take(search, waiting, batch):
                    new = search.propose(parent, search.measure(parent, batch), n=self.settings.num_proposals)
                    waiting += [Unmeasured(values, parent) for values in new]
                search.confirm_leader()
        while waiting:
            self._measure_next(search, waiting, search.batches.draw())
        if len(search.archive):
            search.confirm_leader()

    def _take(self, search: Search, waiting: list[Unmeasured], batch: Sequence[Example]) -> list[Entry]:
        """Return the step's parents: the best by mean, then new candidates, then draws; each once."""
        cfg, rng = self.settings, search.problem.rng
        explored = round(cfg.num_candidates * cfg.exploration_ratio)
        scale = search.archive.spread() * cfg.exploration_temperature
        taken: list[Entry] = []
        for _ in range(explored):
            entry = self._measure_next(search, waiting, batch) if waiting else None
            taken.append(entry or draw_softmax(list(search.archive), scale=scale, rng=rng))
        taken = search.archive.ranked()[: cfg.num_candidates - explored] + taken
        return list({entry.index: entry for entry in taken}.values())

    def _measure_next(self, search: Search, waiting: list[Unmeasured], batch: Sequence[Example]) -> Entry | None:
        new = waiting.pop()
        fresh = search.fresh([new.values])
        return search.evaluate(fresh, batch, parent=new.parent, origin="stream")[0] if fresh else None


def build(settings: Settings) -> StreamingPrioritySearch:
    """Return the trainer."""
    return StreamingPrioritySearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    batch = min(settings.train_batch_size, shape.train)
    confirmed = shape.train + judged_examples(settings, shape) if shape.validation else shape.train
    proposals = settings.num_candidates * settings.num_proposals
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=proposals,
        evaluations=settings.num_candidates * batch + confirmed,
        start=batch,
        extra=proposals * batch + confirmed,
    )
