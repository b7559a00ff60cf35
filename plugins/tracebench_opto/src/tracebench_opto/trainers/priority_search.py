"""PrioritySearch: expand the most urgent candidates of a priority queue, evaluate their children, put all back.

Source: OpenTrace's `opto.features.priority_search.PrioritySearch`. What differs, and why:

* the search starts from one evaluation of the initial candidate; OpenTrace fills its queue with `num_candidates`
  copies of it and evaluates every copy, which spends ten times the evaluations before the first proposal;
* the first step proposes already, and what a step evaluates counts in that same step; OpenTrace's first step calls no
  model and the samples of its last step influence nothing;
* without a validation split candidates are compared on train as a whole, not each on the batch it happens to come
  from;
* the children of a step race: they are measured on growing parts of the examples, and the worse half is dropped each
  time (`racing`);
* what was measured is not measured again, except under `ucb`, which lives on repeated measurements, and the leaders
  where scores are noisy, because the best of many noisy means is lucky;
* the UCB bonus is scaled by the spread of the scores seen, since scores have no fixed range;
* ties and the `time` priority go by order of creation, not by the wall clock, so that equal seeds give equal
  searches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import Minibatches
from tracebench_core.specs import Budget, CostEstimate, Example, TaskShape, Values
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.memory import Memory
from tracebench_opto.parts.priority import ScoreFunction, by_priority
from tracebench_opto.parts.racing import Lot, RacingSettings, race, raced
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.search import Request, Search


class Settings(RacingSettings):
    """Settings of PrioritySearch."""

    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_candidates: int | None = Field(default=None, ge=1)
    """Candidates taken from the queue per step. When None: 2, and fewer where calls are so scarce that they would buy fewer than 20 steps
    (`variant`)."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Proposals for each candidate and batch; likewise."""
    num_batches: int = Field(default=1, ge=1)
    """Batches of train per step."""
    score_function: ScoreFunction = "mean"
    """The priority: `mean` score, `ucb` (upper confidence bound) or `time` (the newest first)."""
    ucb_exploration_constant: float = Field(default=1.0, ge=0)
    validate_exploration_candidates: bool = True
    """Compare candidates on validation, or on train where there is none; when false, on the batch of train that they were made from."""
    memory_update_frequency: int = Field(default=0, ge=0)
    """Steps between merges of the short-term memory into the long-term memory; 0 for no short-term memory."""
    long_term_memory_size: int | None = Field(default=None, ge=1)
    short_term_memory_size: int | None = Field(default=None, ge=1)

    def broad(self, budget: Budget) -> tuple[int, int]:
        """Return how many candidates a step takes, and how many proposals it asks for with each."""
        sizes = (self.num_batches, 1), (self.num_candidates, 2), (self.num_proposals, 2)
        _, candidates, proposals = breadth(budget, self.variant, *sizes)
        return candidates, proposals


Keep = Callable[[Search, Sequence[Values]], list[Values]]
"""Which of a step's proposals are worth evaluating."""


Tell = Callable[[Search], Sequence[str]]
"""What the proposer is told of the whole search in a step; asked before each."""


def tell_nothing(_search: Search) -> Sequence[str]:
    """Tell the proposer nothing but what it is shown."""
    return ()


def keep_all(_search: Search, proposals: Sequence[Values]) -> list[Values]:
    """Keep every proposal."""
    return list(proposals)


@dataclass(frozen=True, slots=True)
class PrioritySearch:
    """The trainer."""

    settings: Settings
    keep: Keep = keep_all
    tell: Tell = tell_nothing

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        num_candidates, num_proposals = cfg.broad(problem.budget.caps)
        search = Search(
            problem, cfg, batches_per_step=cfg.num_batches, use_validation=cfg.validate_exploration_candidates
        )
        memory = Memory(
            lambda entries: by_priority(
                entries, search.archive, score_function=cfg.score_function, exploration=cfg.ucb_exploration_constant
            ),
            update_frequency=cfg.memory_update_frequency,
            long_term_size=cfg.long_term_memory_size,
            short_term_size=cfg.short_term_memory_size,
        )
        rechecks = Minibatches(search.selection, cfg.train_batch_size, rng=problem.rng)
        for _ in search.schedule():
            with problem.step():
                batches = [search.batches.draw() for _ in range(cfg.num_batches)]
                if len(memory) == 0:
                    memory.add(search.seeds(self._judging(search, batches[0])))
                elif cfg.score_function == "ucb":
                    for parent in memory.top(num_candidates):
                        search.recheck(parent, rechecks.draw())
                else:
                    search.doubt(memory.top(num_candidates), rechecks.draw())
                pairs = [(parent, batch) for parent in memory.top(num_candidates) for batch in batches]
                memory.add(self._expand(search, pairs, n=num_proposals))
                memory.end_step()
                if not cfg.validate_exploration_candidates:
                    search.confirm_leader()

    def _expand(self, search: Search, pairs: Sequence[tuple[Entry, Sequence[Example]]], *, n: int) -> list[Entry]:
        """Return the evaluated children of candidates, each on its batch; all of a step's proposals are asked for together."""
        requests = [Request(parent, search.measure(parent, batch)) for parent, batch in pairs]
        proposed = search.propose_all(requests, n=n, notes=self.tell(search))
        fresh = search.fresh([values for children in proposed for values in children])
        kept = self.keep(search, fresh)
        lots: list[Lot] = []
        for (parent, _), children in zip(pairs, proposed, strict=True):
            lots.append((parent, [values for values in kept if values in children]))
            kept = [values for values in kept if values not in children]
        if self.settings.racing and self.settings.validate_exploration_candidates:
            return race(search, lots, search.selection, origin="propose")
        found: list[Entry] = []
        for (parent, batch), (_, mine) in zip(pairs, lots, strict=True):
            found += search.evaluate(mine, self._judging(search, batch), parent=parent, origin="propose")
        return found

    def _judging(self, search: Search, batch: Sequence[Example]) -> Sequence[Example]:
        return search.selection if self.settings.validate_exploration_candidates else batch


def build(settings: Settings) -> PrioritySearch:
    """Return the trainer."""
    return PrioritySearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    judged = judged_examples(settings, shape) if settings.validate_exploration_candidates else settings.train_batch_size
    num_candidates, num_proposals = settings.broad(shape.budget)
    expansions = num_candidates * settings.num_batches
    again = num_candidates * min(settings.train_batch_size, judged)
    always_again = again if settings.score_function == "ucb" else 0
    feedback = feedback_examples(settings, shape) * settings.num_batches
    proposals = expansions * num_proposals
    raced_out = proposals * judged - raced(settings, examples=judged, runners=proposals)
    return estimate_steps(
        settings.planned_steps(shape.train, batches_per_step=settings.num_batches),
        proposals=proposals,
        evaluations=again + feedback * num_candidates + proposals * judged,
        idle_evaluations=always_again + feedback,
        start=judged,
        saved=again - always_again + (raced_out if settings.validate_exploration_candidates else 0.0),
    )
