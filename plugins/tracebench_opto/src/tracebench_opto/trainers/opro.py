"""OPRO: every step shows the best candidates so far with their scores, worst first, and asks for several new ones.

Source: Large Language Models as Optimizers (arXiv 2309.03409, sections 4 and 5.2): the meta-prompt holds the 20 best
solutions of the whole search in ascending order and a few exemplars drawn anew in each step, and 8 solutions are
sampled from it. What differs, and why:

* the proposer words the meta-prompt, so that any serves: it is shown the memory as the candidates tried before, and
  the best of them, measured on the drawn exemplars, as the one to improve. A proposer that cuts its own memory short
  (`memory_size`) sees the best of what is left;
* solutions are compared on validation where a task has one; the paper measures them on a part of train.

The proposer `OPRO` alone, in another trainer, sees the ancestors of one candidate and not the search's best.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, CostEstimate, Evaluation, TaskShape
from tracebench_opto.parts.cost import estimate_selected
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.search import Request, Search, SearchSettings


class Settings(SearchSettings):
    """Settings of OPRO. One step is one meta-prompt."""

    train_batch_size: int = Field(default=3, ge=1)
    """Exemplars, drawn from train for each step."""
    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Solutions sampled in a step. When None: 8, and fewer where calls are so scarce that they would buy fewer than 20 steps
    (`variant`)."""
    num_solutions: int = Field(default=20, ge=1)
    """The best candidates so far that a step shows, the one to improve among them."""

    def broad(self, budget: Budget) -> int:
        """Return how many solutions a step samples."""
        return breadth(budget, self.variant, (self.num_proposals, 8))[0]


@dataclass(frozen=True, slots=True)
class OPRO:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        search = Search(problem, cfg)
        for _ in search.schedule():
            with problem.step():
                if len(search.archive) == 0:
                    search.seed()
                best, *others = [e for e in search.archive.ranked() if e.mean() is not None] or [*search.archive]
                shown: list[Evaluation] = []
                for entry in reversed(others[: cfg.num_solutions - 1]):
                    judged = entry.evaluation_on(search.selection)
                    shown.append(entry.evaluations[-1] if judged is None else judged)
                exemplars = search.measure(best, search.batches.draw())
                proposed = search.propose_all([Request(best, exemplars, shown)], n=cfg.broad(problem.budget.caps))[0]
                search.evaluate(search.fresh(proposed), search.selection, parent=best, origin="sample")


def build(settings: Settings) -> OPRO:
    """Return the trainer."""
    return OPRO(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_selected(settings, shape, proposals=settings.broad(shape.budget))
