from __future__ import annotations

import pytest

from tracebench_core.specs import Candidate, Evaluation, Example, ExampleResult, Feedback, Objective, Split
from tracebench_core.specs.feedback import FeedbackStatus
from tracebench_opto.parts.archive import REPEATS, Archive, evaluation_value
from tracebench_opto.parts.objectives import SCALAR, ObjectiveConfig, resolve_goal

A, B, C = (Example(id=name) for name in "abc")


def evaluation(
    number: int,
    scores: dict[str, float | None],
    *,
    split: Split = "train",
    worst_score: float | None = None,
    metrics: dict[str, float] | None = None,
) -> Evaluation:
    """Return an evaluation of candidate `number`; a score of None is an example that failed."""
    counted = [worst_score if s is None else s for s in scores.values()]
    known = [s for s in counted if s is not None]
    return Evaluation(
        candidate=Candidate(id=f"c{number}", values={"x": number}),
        results=tuple(
            ExampleResult(
                example=example,
                split=split,
                seconds=0.0,
                feedback=Feedback(score=s or 0.0, status="error" if s is None else "ok", metrics=metrics or {}),
            )
            for example, s in scores.items()
        ),
        score=sum(known) / len(known) if len(known) == len(counted) else None,
    )


def test_repeats_are_averaged_per_example_before_the_mean() -> None:
    archive = Archive()
    archive.add(evaluation(0, {"a": 1.0, "b": 0.0}))
    entry = archive.add(evaluation(0, {"a": 0.0}))
    assert entry.mean() == pytest.approx(0.25)
    assert entry.count == 3


def test_a_failed_example_leaves_a_candidate_without_a_mean() -> None:
    archive = Archive()
    entry = archive.add(evaluation(0, {"a": 1.0, "b": None}))
    assert entry.mean() is None
    assert entry.mean([A]) == 1.0
    archive.add(evaluation(0, {"b": 0.0}))
    assert entry.mean() == 0.5


def test_a_failed_example_counts_for_what_the_engine_counted() -> None:
    entry = Archive().add(evaluation(0, {"a": 1.0, "b": None, "c": None}, worst_score=-2.0))
    assert entry.example_means() == pytest.approx({"a": 1.0, "b": -2.0, "c": -2.0})


def test_what_a_failed_example_counts_for_is_the_same_in_every_batch() -> None:
    """It is computed back from the batch's mean, whose last digits are chance: they are no noise of the task's, and no gain."""
    archive = Archive()
    for tenths in range(10):
        entry = archive.add(evaluation(0, {"a": tenths / 10, "b": 0.7, "c": None}, worst_score=0.0))
    assert entry.scores["c"] == [0.0] * 10
    again = Archive()
    for tenths in range(10):
        entry = again.add(evaluation(0, {"a": tenths * 1e7, "c": None, "d": 0.1, "e": None}, worst_score=-12.5))
    assert entry.scores["c"] == entry.scores["e"] == [-12.5] * 10


def test_scores_of_the_other_split_are_feedback_only() -> None:
    archive = Archive(split="validation")
    entry = archive.add(evaluation(0, {"a": 5.0}))
    assert entry.mean() is None
    assert entry.evaluation_on([A]) is not None
    archive.add(evaluation(0, {"b": 1.0}, split="validation"))
    assert entry.mean() == 1.0


def test_known_results_make_up_a_new_batch() -> None:
    archive = Archive()
    entry = archive.add(evaluation(0, {"a": 1.0, "b": 3.0}))
    archive.add(evaluation(0, {"c": 5.0}))
    made = entry.evaluation_on([C, A])
    assert made is not None
    assert [r.example for r in made.results] == ["c", "a"]
    assert made.score == 3.0
    assert entry.evaluation_on([A, Example(id="never")]) is None


def test_ranking_puts_the_unmeasured_last_and_ties_to_the_older() -> None:
    archive = Archive()
    for number, score in enumerate([None, 1.0, 2.0, 2.0]):
        archive.add(evaluation(number, {"a": score}))
    assert [e.index for e in archive.ranked()] == [2, 3, 1, 0]


def test_ranking_by_pareto_goes_front_by_front() -> None:
    objectives = [Objective(metric="m", direction="maximize"), Objective(metric="n", direction="minimize")]
    archive = Archive(resolve_goal(ObjectiveConfig(mode="pareto"), objectives))
    for number, (m, n) in enumerate([(0.0, 9.0), (1.0, 1.0), (5.0, 3.0)]):
        archive.add(evaluation(number, {"a": 0.0}, metrics={"m": m, "n": n}))
    assert [e.index for e in archive.ranked()] == [2, 1, 0]


def test_objectives_are_means_over_all_that_was_measured() -> None:
    objectives = [Objective(metric="m", direction="minimize")]
    archive = Archive(resolve_goal(ObjectiveConfig(mode="pareto"), objectives))
    archive.add(evaluation(0, {"a": 0.0}, metrics={"m": 1.0}))
    entry = archive.add(evaluation(0, {"b": 0.0}, metrics={"m": 3.0}))
    assert entry.vector() == (-2.0,)
    archive.add(evaluation(0, {"c": None}))
    assert entry.vector() is None


def test_lineage_ends_with_the_entry_and_starts_with_the_seed() -> None:
    archive = Archive()
    seed = archive.add(evaluation(0, {"a": 0.0}))
    child = archive.add(evaluation(1, {"a": 0.0}), parent=seed)
    grandchild = archive.add(evaluation(2, {"a": 0.0}), parent=child)
    assert grandchild.lineage() == [seed, child, grandchild]


def test_noise_is_told_from_repeats() -> None:
    archive = Archive()
    archive.add(evaluation(0, {"a": 1.0}))
    assert archive.noisy is None
    for _ in range(REPEATS):
        archive.add(evaluation(0, {"a": 1.0}))
    assert archive.noisy is False
    archive.add(evaluation(0, {"a": 2.0}))
    assert archive.noisy is True


def test_equal_values_are_found_whatever_their_order() -> None:
    archive = Archive()
    entry = archive.add(evaluation(7, {"a": 1.0}))
    assert archive.find({"x": 7}) is entry
    assert archive.find({"x": 8}) is None


def test_the_value_of_a_batch_follows_the_goal() -> None:
    objectives = [Objective(metric="m", direction="minimize", weight=2.0)]
    goal = resolve_goal(ObjectiveConfig(mode="weighted"), objectives)
    done = evaluation(0, {"a": 1.0}, metrics={"m": 3.0})
    assert evaluation_value(done, SCALAR) == 1.0
    assert evaluation_value(done, goal) == -6.0
    assert evaluation_value(evaluation(0, {"a": 1.0, "b": None}), SCALAR) is None


def test_a_task_is_free_of_noise_after_ten_equal_repeats_and_noisy_after_one_that_differs() -> None:
    archive = Archive()
    for _ in range(REPEATS):
        archive.add(evaluation(0, {"a": 1.0}))
        archive.add(evaluation(1 + len(archive), {"a": 1.0}))
        assert archive.noisy is None
    assert REPEATS == 10
    archive.add(evaluation(0, {"a": 1.0}))
    assert archive.noisy is False
    archive.add(evaluation(0, {"a": 2.0}))
    assert archive.noisy is True


@pytest.mark.parametrize(
    ("means", "spread"),
    [([], 1.0), ([4.0], 1.0), ([4.0, 4.0], 1.0), ([2.0, 5.0, 3.0], 3.0), ([-2.0, 5.5], 7.5), ([0.0, 0.25], 0.25)],
)
def test_the_scale_of_scores_is_from_the_worst_to_the_best(means: list[float], spread: float) -> None:
    archive = Archive()
    for number, score in enumerate(means):
        archive.add(evaluation(number, {"a": score}))
    archive.add(evaluation(99, {"a": None}))
    assert archive.spread() == spread


def test_the_value_of_a_batch_is_its_mean_and_none_where_one_is_missing() -> None:
    assert evaluation_value(evaluation(0, {"a": 1.0, "b": 4.0}), SCALAR) == 2.5
    assert evaluation_value(evaluation(0, {"a": 1.0, "b": None}), SCALAR) is None
    assert evaluation_value(evaluation(0, {"a": 1.0, "b": None}, worst_score=-0.5), SCALAR) == 0.25
    nothing = evaluation(0, {"a": 1.0}).model_copy(update={"results": ()})
    assert evaluation_value(nothing, SCALAR) is None


def test_a_batch_made_of_known_results_has_a_score_only_when_all_were_measured() -> None:
    archive = Archive()
    entry = archive.add(evaluation(0, {"a": 1.0, "b": None}))
    assert [made.score for example in (A, B) if (made := entry.evaluation_on([example])) is not None] == [1.0, None]
    made = entry.evaluation_on([A, B])
    assert made is not None
    assert made.score is None
    empty = entry.evaluation_on([])
    assert empty is not None
    assert empty.score is None


def test_what_fails_again_stays_failed_and_what_was_measured_once_does_not_fail() -> None:
    archive = Archive()
    for _ in range(2):
        entry = archive.add(evaluation(0, {"a": None, "b": 1.0}))
        assert (entry.failed, entry.mean()) == ({"a"}, None)
    archive.add(evaluation(0, {"a": 0.5}))
    archive.add(evaluation(0, {"a": None}))
    assert (entry.failed, entry.mean()) == (set(), 0.75)


@pytest.mark.parametrize("status", ["error", "invalid", "timeout", "not_measured"])
def test_objectives_of_the_split_alone_count_and_none_where_one_failed(status: FeedbackStatus) -> None:
    objectives = [Objective(metric="m", direction="maximize"), Objective(metric="n", direction="minimize")]
    goal = resolve_goal(ObjectiveConfig(mode="pareto"), objectives)
    archive = Archive(goal, split="train")
    entry = archive.add(evaluation(0, {"a": 0.0}, metrics={"m": 2.0, "n": 3.0}))
    archive.add(evaluation(0, {"b": 0.0}, split="validation", metrics={"m": 50.0, "n": 50.0}))
    archive.add(evaluation(0, {"c": 0.0}, metrics={"m": 3.0, "n": 5.0}))
    assert entry.vector() == (2.5, -4.0)

    done = evaluation(0, {"c": 0.0}, metrics={"m": 3.0, "n": 5.0})
    broken = done.results[0].model_copy(
        update={"feedback": Feedback(score=0.0, status=status, metrics={"m": 3.0, "n": 5.0})}
    )
    archive.add(done.model_copy(update={"results": (broken,)}))
    assert entry.vector() is None


@pytest.mark.parametrize("status", ["error", "invalid", "timeout"])
def test_a_failure_of_any_kind_counts_for_its_share_of_what_the_engine_counted(status: FeedbackStatus) -> None:
    done = evaluation(0, {"a": 1.0, "b": None, "c": None}, worst_score=-0.25)
    results = [
        r if r.feedback.status == "ok" else r.model_copy(update={"feedback": Feedback(score=9.0, status=status)})
        for r in done.results
    ]
    entry = Archive().add(done.model_copy(update={"results": tuple(results)}))
    assert entry.example_means() == pytest.approx({"a": 1.0, "b": -0.25, "c": -0.25})


def test_ranking_by_the_mean_ignores_fronts_and_what_lacks_an_objective_comes_last_of_the_fronts() -> None:
    objectives = [Objective(metric="m", direction="maximize"), Objective(metric="n", direction="minimize")]
    rows = [(0.0, {"m": 9.0, "n": 0.0}), (3.0, {"m": 1.0, "n": 1.0}), (5.0, {}), (1.0, {"m": 5.0, "n": 5.0})]
    orders = []
    for mode in ("scalar", "pareto"):
        archive = Archive(resolve_goal(ObjectiveConfig(mode=mode), objectives if mode == "pareto" else []))
        for number, (score, metrics) in enumerate(rows):
            archive.add(evaluation(number, {"a": score}, metrics=metrics))
        orders.append([e.index for e in archive.ranked()])
    assert orders[0] == [2, 1, 3, 0]
    assert orders[1][0] == 0
    assert orders[1][-1] == 2
