"""The GEPA loop: reflective mutation with a minibatch acceptance test, and a merge of complementary lineages now and
then.

Follows arXiv 2507.19457, algorithm 1. Which candidate is mutated next is left to the trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import draw_subset
from tracebench_core.specs import CostEstimate, Evaluation, TaskShape, Values
from tracebench_opto.parts.acceptance import accept, improves
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.contests import FrontierType, contests_of
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.merge import Pair, merge, mergeable_pairs
from tracebench_opto.parts.scarcity import Variant
from tracebench_opto.parts.search import Request, Search, SearchSettings
from tracebench_opto.parts.selection import frontier

MERGE_SAMPLE = 5
"""Examples on which a merged candidate must do as well as both of its parents before it is measured on all."""
EXPECTED_ACCEPTANCE = 0.3
"""Part of the proposals that pass the minibatch test, for estimates of cost only."""


class EvolutionSettings(SearchSettings):
    """Settings of the GEPA trainers. One step is one mutation, or one merge."""

    train_batch_size: int = Field(default=3, ge=1)
    """Examples of the minibatch on which a mutation must improve."""
    pareto_subset_size: int = Field(default=24, ge=1)
    """Examples of validation, or of train where there is none, that make the frontier; drawn once."""
    merge_every: int = Field(default=0, ge=0)
    """Steps between attempts to merge; 0 for no merging."""
    variant: Variant = "budget"
    """`budget` tests a mutation on the minibatch and on as much of the frontier's examples as the budget affords: all of them where model
    calls are scarce and evaluations are not. `paper` tests it on the minibatch alone."""
    acceptance_test: bool = True
    """Measure a mutation on the frontier's examples only after it improved on its minibatch."""
    one_parameter: bool = True
    """Mutate one parameter at a time, in the turn of each lineage. A proposer that can be told is asked for that one alone; of any other's
    proposal the first change is kept, counted from the one whose turn it is."""
    cache_evaluation: bool = True
    """Take a parent's earlier results on the examples of a minibatch instead of measuring it there again. gepa always
    measures it again: fewer proposals, and fewer model calls, for as many evaluations."""
    frontier_type: FrontierType = "instance"
    """What a candidate may be best at, to be on the frontier: an `instance` (example), an `objective` (the mean of one metric), either of
    them (`hybrid`), or an objective on an instance (`cartesian`)."""
    skip_perfect_score: bool = True
    """Ask no model where every example of the minibatch has `perfect_score` already."""
    perfect_score: float | None = None
    """A score from which nothing is left to improve; None for exactly 1: a task that scores above it has another scale."""


Choose = Callable[[Search, list[Entry]], Entry]
"""Which member of the pool is mutated next."""


def evolve(problem: Problem, settings: EvolutionSettings, *, choose: Choose) -> None:
    """Run the loop."""
    search = Search(problem, settings, selection_limit=settings.pareto_subset_size)
    pool: list[Entry] = []
    merged: set[tuple[int, int]] = set()
    turns: dict[int, int] = {}
    for index in search.schedule():
        with problem.step():
            pool = pool or search.seeds()
            pairs = _pairs(search, pool, merged, settings) if _is_merge_due(settings, index) else []
            if pairs:
                pair = problem.rng.choice(pairs)
                merged.add((pair.one.index, pair.other.index))
                pool += _merge(search, pair)
            else:
                pool += _mutate(search, choose(search, pool), pool, turns=turns, settings=settings)


def estimate_evolution(settings: EvolutionSettings, shape: TaskShape) -> CostEstimate:
    """Return what one job of a GEPA trainer is expected to use."""
    judged = min(judged_examples(settings, shape), settings.pareto_subset_size)
    batch = min(settings.train_batch_size, shape.train)
    feedback = feedback_examples(settings, shape)
    share = EXPECTED_ACCEPTANCE if settings.acceptance_test else 1.0
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=1,
        evaluations=feedback + (batch if settings.acceptance_test else 0) + share * judged,
        idle_evaluations=feedback,
        start=judged,
    )


def _is_merge_due(settings: EvolutionSettings, index: int) -> bool:
    return settings.merge_every > 0 and index > 0 and index % settings.merge_every == 0


def _mutate(
    search: Search, parent: Entry, pool: Sequence[Entry], *, turns: dict[int, int], settings: EvolutionSettings
) -> list[Entry]:
    """Return the child when it was accepted."""
    batch = search.batches.draw()
    spent = len(parent.evaluations)
    before = search.measure(parent, batch, again=not settings.cache_evaluation)
    if settings.skip_perfect_score and _is_perfect(before, settings.perfect_score):
        search.tried += len(parent.evaluations) > spent
        return []
    names = list(parent.candidate.values)
    turn = turns.get(parent.index, 0)
    turns[parent.index] = turn + 1
    only = [names[turn % len(names)]] if settings.one_parameter else None
    proposals = search.fresh(search.propose_all([Request(parent, before)], n=1, only=only)[0], known=pool)
    if settings.one_parameter:
        proposals = [_narrow(search, parent, values, pool=pool, turn=turn) for values in proposals]
    if not proposals:
        return []
    on = search.test_set(batch, settings.variant) if settings.acceptance_test else search.selection
    child = search.attempt(proposals, on, parent=parent, origin="mutate")[0]
    turns.setdefault(child.index, turn + 1)
    if settings.acceptance_test:
        what = (
            "the minibatch"
            if len(on) == len(batch)
            else f"the minibatch and {len(on) - len(batch)} of the frontier's examples"
        )
        known = before if len(on) == len(batch) else search.measure(parent, on)
        if not accept(search.problem, search.measure(child, on), known, goal=search.archive.goal, what=what):
            return []
        search.measure(child, search.selection)
    return [child]


def _is_perfect(evaluation: Evaluation, perfect: float | None) -> bool:
    feedbacks = [result.feedback for result in evaluation.results]
    return all(feedback.status == "ok" and is_perfect(feedback.score, perfect) for feedback in feedbacks)


def is_perfect(score: float, perfect: float | None) -> bool:
    """Tell whether a score leaves nothing to improve."""
    return score == 1.0 if perfect is None else score >= perfect


def _narrow(search: Search, parent: Entry, values: Values, *, pool: Sequence[Entry], turn: int) -> Values:
    """Return the proposal with one parameter changed: the first that it changes, counted from the one whose turn it is."""
    base = parent.candidate.values
    names = list(base)
    start = turn % len(names)
    changed = next(n for n in names[start:] + names[:start] if values[n] != base[n])
    narrowed = base | {changed: values[changed]}
    return narrowed if search.fresh([narrowed], known=pool) else values


def _pairs(search: Search, pool: list[Entry], merged: set[tuple[int, int]], settings: EvolutionSettings) -> list[Pair]:
    """Return pairs of the frontier that were not merged before."""
    contests = contests_of(settings.frontier_type, search)
    members = frontier(pool, search.archive.goal, search.selection, contests=contests)
    return [p for p in mergeable_pairs(members) if (p.one.index, p.other.index) not in merged]


def _merge(search: Search, pair: Pair) -> list[Entry]:
    """Return the merged candidate when it does as well as both of its parents on a sample of the frontier's examples."""
    problem, goal = search.problem, search.archive.goal
    fresh = search.fresh([merge(pair, rng=problem.rng)])
    if not fresh:
        return []
    sample = draw_subset(search.selection, MERGE_SAMPLE, rng=problem.rng)
    child = search.evaluate(fresh, sample, parent=pair.one, partner=pair.other, origin="merge")[0]
    found = search.measure(child, sample)
    if any(improves(search.measure(parent, sample), found, goal=goal) for parent in (pair.one, pair.other)):
        problem.decide(child.candidate, "rejected", "the merge does worse than a parent")
        return []
    problem.decide(child.candidate, "accepted", "the merge does as well as both parents")
    search.measure(child, search.selection)
    return [child]
