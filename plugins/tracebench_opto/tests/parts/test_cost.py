"""Cost models by hand: steps, proposals and what is likely to be saved."""

from __future__ import annotations

import pytest

from tracebench_core.specs import Range, TaskShape
from tracebench_opto.parts.cost import estimate_selected, estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.search import UNCAPPED_STEPS, SearchSettings


def test_what_a_step_most_likely_does_without_is_left_out_of_the_likely_and_of_nothing_else() -> None:
    found = estimate_steps(5, proposals=2, evaluations=20, idle_evaluations=4, start=8, extra=3, saved=6)

    assert found.evaluations == Range(low=8 + 5 * 4, likely=8 + 5 * 20 + 3 - 5 * 6, high=8 + 5 * 20 + 3)
    assert found.llm_calls == Range(low=0, likely=10, high=20)
    assert found.proposals == Range(low=0, likely=10, high=10)
    assert (found.steps, found.start, found.to_cap) == (5, 8, False)


def test_nothing_saved_is_as_likely_as_at_most() -> None:
    found = estimate_steps(5, proposals=1, evaluations=20)

    assert found.evaluations == Range(low=0, likely=100, high=100)


def test_a_search_without_steps_of_its_own_goes_to_the_cap_and_is_told_at_the_steps_of_a_job_without_one() -> None:
    found = estimate_steps(None, proposals=1, evaluations=7, saved=2)

    assert (found.steps, found.to_cap) == (None, True)
    assert found.evaluations == Range(low=0, likely=UNCAPPED_STEPS * 5, high=UNCAPPED_STEPS * 7)


@pytest.mark.parametrize(("validation", "judged", "feedback"), [(9, 6, 4), (5, 5, 4), (0, 6, 0)])
def test_candidates_are_judged_on_validation_and_feedback_costs_nothing_where_there_is_none(
    validation: int, judged: int, feedback: int
) -> None:
    settings = SearchSettings(validation_size=6, train_batch_size=4, num_steps=3)
    shape = TaskShape(parameters=1, train=12, validation=validation)

    assert (judged_examples(settings, shape), feedback_examples(settings, shape)) == (judged, feedback)
    found = estimate_selected(settings, shape, proposals=2, idle_feedback=True)
    assert found.evaluations == Range(
        low=judged + 3 * feedback,
        likely=judged + 3 * (feedback + 2 * judged),
        high=judged + 3 * (feedback + 2 * judged),
    )
    assert estimate_selected(settings, shape, proposals=2).evaluations.low == judged
