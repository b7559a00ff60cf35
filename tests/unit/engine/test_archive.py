from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.engine.archive import Archive, mean_score
from tracebench_core.specs import ExampleResult, Feedback, FeedbackStatus, Split


def result(example: str, score: float, *, split: Split = "train", status: FeedbackStatus = "ok") -> ExampleResult:
    return ExampleResult(example=example, split=split, feedback=Feedback(score=score, status=status), seconds=0.0)


def archive(*, train: int = 2, validation: int = 0) -> Archive:
    return Archive({"x": 0}, train=[f"t{i}" for i in range(train)], validation=[f"v{i}" for i in range(validation)])


def tell(kept: Archive, x: int, *results: ExampleResult, failure_score: float | None = None) -> None:
    candidate, _ = kept.admit({"x": x})
    for one in results:
        kept.record(candidate, one, failure_score=failure_score)


def test_equal_values_are_one_candidate_whoever_proposes_them() -> None:
    kept = archive()
    first, new = kept.admit({"x": 1}, origin="a")
    again, new_again = kept.admit({"x": 1}, origin="b")

    assert (first.id, new, again, new_again) == ("c1", True, first, False)


def test_a_part_of_train_does_not_beat_all_of_it() -> None:
    kept = archive()
    tell(kept, 1, result("t0", 0.4), result("t1", 0.6))
    tell(kept, 2, result("t0", 9.0))

    assert (kept.best.values, kept.best_score) == ({"x": 1}, 0.5)


def test_all_of_validation_outranks_train() -> None:
    kept = archive(validation=1)
    tell(kept, 1, result("t0", 1.0), result("t1", 1.0))
    tell(kept, 2, result("v0", 0.2, split="validation"))

    assert kept.best.values == {"x": 2}


def test_a_candidate_that_could_not_be_measured_is_not_best() -> None:
    kept = archive(train=1)
    tell(kept, 1, result("t0", 0.3))
    tell(kept, 2, result("t0", 99.0, status="timeout"))

    assert kept.best.values == {"x": 1}


def test_a_stand_in_score_counts_where_the_task_has_one() -> None:
    kept = archive()
    tell(kept, 1, result("t0", 1.0), result("t1", 5.0, status="error"), failure_score=0.0)

    assert kept.best_score == 0.5


def test_a_best_that_repeats_worse_gives_way() -> None:
    kept = archive(train=1)
    tell(kept, 1, result("t0", 1.0))
    tell(kept, 2, result("t0", 0.8))
    tell(kept, 1, result("t0", 0.0))

    assert (kept.best.values, kept.best_score) == ({"x": 2}, 0.8)


def test_with_nothing_measured_the_initial_candidate_is_best_without_a_score() -> None:
    kept = archive()
    tell(kept, 0, result("t0", 1.0, status="invalid"))

    assert (kept.best.id, kept.best_score) == ("c0", None)


def test_the_mean_of_a_batch_with_a_hole_is_unknown_not_smaller() -> None:
    assert mean_score([result("a", 1.0), result("b", 0.0, status="error")], None) is None
    assert mean_score([result("a", 1.0), result("b", 9.0, status="error")], 0.0) == 0.5
    assert mean_score([], None) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1e6, 1e6)), min_size=1, max_size=30), st.randoms())
def test_the_best_has_the_highest_mean_in_whatever_order_results_come(
    told: list[tuple[int, float]], rng: random.Random
) -> None:
    kept = archive(train=1)
    rng.shuffle(told)
    means: dict[int, list[float]] = {}
    for x, score in told:
        tell(kept, x, result("t0", score))
        means.setdefault(x, []).append(score)

    assert kept.best_score is not None
    best = max(sum(scores) / len(scores) for scores in means.values())
    assert abs(kept.best_score - best) <= 1e-6 * max(1.0, abs(best))
