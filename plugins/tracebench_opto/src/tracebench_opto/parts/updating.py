"""The loop of trainers that hold one current candidate: propose from its feedback, then keep it or move on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, Example, TaskShape
from tracebench_opto.parts.acceptance import accept
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.racing import race
from tracebench_opto.parts.scarcity import Variant
from tracebench_opto.parts.search import Search, SearchSettings

Compare = Literal["batch", "selection"]


class UpdateSettings(SearchSettings):
    """Settings of trainers that hold one current candidate."""

    test_frequency: int = Field(default=1, ge=0)
    """Steps between measurements of the current candidate on validation (train where there is none); 0 for none."""


class TestedSettings(UpdateSettings):
    """Settings of those that test a child on the batch that it was made from."""

    variant: Variant = "budget"
    """`budget` tests on as much of validation (train where there is none), too, as the budget affords: on all of it where model calls are
    scarce and evaluations are not. `paper` tests on the batch alone."""


def run_updates(
    problem: Problem,
    settings: UpdateSettings,
    *,
    num_proposals: int = 1,
    always: bool = False,
    compare: Compare = "batch",
    threshold: float = 0.0,
    racing: bool = False,
    variant: Variant = "paper",
) -> None:
    """Replace the current candidate by the best of its children, step by step.

    Args:
        problem: the problem.
        settings: the trainer's settings.
        num_proposals: children per step.
        always: move on to the child even when it is worse.
        compare: measure children on the batch that they were made from, or on the selection.
        threshold: how much better a child must be.
        variant: how large a test on the batch is.
        racing: let the children of a step race for being the best of them.
    """
    search = Search(problem, settings)
    current: Entry | None = None
    for index in search.schedule():
        with problem.step():
            batch = search.batches.draw()
            if current is None:
                current = search.seed()
            on = search.selection if compare == "selection" else search.test_set(batch, variant)
            child = _best_child(search, current, batch, on=on, n=num_proposals, racing=racing)
            if child is not None:
                better = accept(
                    problem,
                    search.measure(child, on),
                    search.measure(current, on),
                    goal=search.archive.goal,
                    threshold=threshold,
                    always=always,
                    what=test_words(compare, batch, on),
                )
                current = child if better else current
            if settings.test_frequency and (index + 1) % settings.test_frequency == 0:
                search.measure(current, search.selection)


def test_words(compare: Compare, batch: Sequence[Example], on: Sequence[Example]) -> str:
    """Return how a verdict names what it stands on."""
    if compare == "selection":
        return "the selection"
    return "this batch" if len(on) == len(batch) else f"this batch and {len(on) - len(batch)} of the selection"


def estimate_updates(
    settings: UpdateSettings, shape: TaskShape, *, num_proposals: int = 1, compare: Compare = "batch"
) -> CostEstimate:
    """Return what one job of such a trainer is expected to use."""
    judged, feedback = judged_examples(settings, shape), feedback_examples(settings, shape)
    if compare == "selection":
        children = float(num_proposals * judged)
    else:
        batch = min(settings.train_batch_size, shape.train)
        children = num_proposals * batch + (judged / settings.test_frequency if settings.test_frequency else 0)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=num_proposals,
        evaluations=feedback + children,
        idle_evaluations=feedback,
        start=judged,
    )


def _best_child(
    search: Search, parent: Entry, batch: tuple[Example, ...], *, on: tuple[Example, ...], n: int, racing: bool
) -> Entry | None:
    if racing:
        proposed = search.propose(parent, search.measure(parent, batch), n=n, known=[parent])
        children = race(search, [(parent, proposed)], on, origin="propose")
    else:
        children = search.expand(parent, batch, n=n, on=on, known=[parent])
    return search.archive.ranked(children, examples=on)[0] if children else None
