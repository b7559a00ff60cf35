"""UCBSearch: candidates are the arms of a bandit; each step pulls the arm with the highest upper confidence bound and
breeds from it.

Source: OpenTrace's `opto.trainer.algorithms.UCBsearch.UCBSearchAlgorithm`; the index is UCB1 (Auer et al. 2002). What
differs, and why:

* parent and child are measured on the same draw of validation, so that their difference is not that of two draws;
* the arm that looks best is measured again before anything is bred from it; OpenTrace credits it with its score on
  the training batch;
* the exploration bonus is scaled by the spread of the scores seen, since scores have no fixed range;
* once repeats have shown that a task repeats itself, nothing is measured twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import Minibatches
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.priority import by_priority
from tracebench_opto.parts.search import Search, SearchSettings


class Settings(SearchSettings):
    """Settings of UCBSearch. One step is one iteration of the search."""

    max_buffer_size: int = Field(default=10, ge=1)
    """Arms that are kept; the one with the lowest bound leaves."""
    ucb_exploration_factor: float = Field(default=1.0, ge=0)
    evaluation_batch_size: int = Field(default=20, ge=1)
    """Examples of validation, or of train where there is none, for one measurement of an arm."""
    num_proposals: int = Field(default=1, ge=1)


@dataclass(frozen=True, slots=True)
class UCBSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        search = Search(problem, cfg)
        draws = Minibatches(search.selection, cfg.evaluation_batch_size, rng=problem.rng)
        arms: list[Entry] = []
        for _ in search.schedule():
            with problem.step():
                contest = draws.draw()
                if arms:
                    search.recheck(self._ordered(search, arms)[0], contest)
                else:
                    arms = search.seeds(contest)
                parent = self._ordered(search, arms)[0]
                arms += search.expand(parent, search.batches.draw(), n=cfg.num_proposals, on=contest)
                arms = self._ordered(search, arms)[: cfg.max_buffer_size]
                search.confirm_leader()

    def _ordered(self, search: Search, arms: list[Entry]) -> list[Entry]:
        exploration = self.settings.ucb_exploration_factor
        return by_priority(arms, search.archive, score_function="ucb", exploration=exploration)


def build(settings: Settings) -> UCBSearch:
    """Return the trainer."""
    return UCBSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    contest = min(settings.evaluation_batch_size, judged_examples(settings, shape))
    idle = contest + feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=settings.num_proposals,
        evaluations=idle + settings.num_proposals * contest,
        idle_evaluations=idle,
        start=contest,
    )
