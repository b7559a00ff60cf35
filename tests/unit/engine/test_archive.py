"""Which candidate is best: ranked on common examples of the comparison set, whatever was measured first."""

from collections.abc import Mapping, Sequence

import pytest

from tracebench_core.specs import ExampleResult, Feedback
from tracebench_core.specs.feedback import FeedbackStatus
from tracebench_engine.job.archive import Archive
from tracebench_runs.events.ranking import Ranking, aggregate_score, mean, mean_alone


def result(example: str, score: float = 0.0, status: FeedbackStatus = "ok") -> ExampleResult:
    feedback = Feedback(score=score, status=status)
    return ExampleResult(example=example, split="train", feedback=feedback, seconds=0.0)


def archive(*, train: int = 2, validation: int = 0, worst_score: float | None = None) -> Archive:
    names = [f"t{i}" for i in range(train)], [f"v{i}" for i in range(validation)]
    return Archive({"x": 0}, Ranking(train=names[0], validation=names[1], worst_score=worst_score))


def tell(kept: Archive, x: int, *results: ExampleResult) -> str:
    candidate, _ = kept.admit({"x": x})
    for one in results:
        kept.record(candidate, one)
    return candidate.id


def best(kept: Archive) -> tuple[object, float | None]:
    return kept.best.values["x"], kept.ranking.best_score


def test_equal_values_are_one_candidate_whoever_proposes_them() -> None:
    kept = archive()
    first, new = kept.admit({"x": 1}, origin="first")
    again, newer = kept.admit({"x": 1}, origin="second")

    assert (first.id, again.id, new, newer) == ("c1", "c1", True, False)


def test_the_initial_candidate_is_best_until_another_was_measured_on_the_whole_set() -> None:
    kept = archive(validation=3)
    tell(kept, 0, *(result(f"v{i}", 0.25) for i in range(3)))
    tell(kept, 1, result("v0", 9.0), result("v1", 9.0))

    assert best(kept) == (0, 0.25)


def test_a_mean_over_train_does_not_outrank_validation() -> None:
    kept = archive(validation=2)
    tell(kept, 0, result("t0", 0.9), result("t1", 0.9))
    tell(kept, 1, result("v0", 0.3), result("v1", 0.3))

    assert best(kept) == (1, 0.3)


def test_train_ranks_while_nobody_was_measured_on_all_of_validation() -> None:
    kept = archive(validation=2)
    tell(kept, 0, result("t0", 0.1), result("t1", 0.1))
    tell(kept, 1, result("t0", 0.5), result("t1", 0.5), result("v0", 9.0))

    assert best(kept) == (1, 0.5)


def test_a_declared_set_ranks_alone_and_what_is_known_counts() -> None:
    kept = archive(train=3, validation=3)
    tell(kept, 1, result("v0", 0.5), result("v1", 0.5))
    tell(kept, 2, result("v0", 0.9), result("v1", 0.2), result("v2", 9.0))
    kept.ranking.compare_on(["v0", "v1"])

    assert best(kept) == (2, pytest.approx(0.55))


def test_repeats_count_as_one_example() -> None:
    kept = archive()
    tell(kept, 1, result("t0", 0.0), result("t0", 1.0), result("t1", 1.0))

    assert kept.ranking.best_score == 0.75


def test_a_leader_that_falls_makes_way_for_the_next() -> None:
    kept = archive(train=1)
    tell(kept, 1, result("t0", 5.0))
    tell(kept, 2, result("t0", 4.0))
    tell(kept, 1, result("t0", 0.0))

    assert best(kept) == (2, 4.0)


def test_among_equals_the_first_is_best() -> None:
    kept = archive(train=1)
    tell(kept, 2, result("t0", 1.0))
    tell(kept, 1, result("t0", 1.0))

    assert kept.best.values == {"x": 2}


def test_what_was_not_measured_bars_until_it_is() -> None:
    kept = archive(worst_score=0.0)
    tell(kept, 1, result("t0", 9.0), result("t1", status="not_measured"))
    assert best(kept) == (0, None)

    tell(kept, 1, result("t1", 1.0))
    assert best(kept) == (1, 5.0)


def test_a_failure_counts_as_the_worst_and_never_as_a_gap() -> None:
    kept = archive(worst_score=-1.0)
    tell(kept, 1, result("t0", 1.0), result("t1", 5.0, status="invalid"))
    assert best(kept) == (1, 0.0)

    bare = archive()
    tell(bare, 1, result("t0", 1.0), result("t1", 5.0, status="invalid"))
    assert best(bare) == (0, None)


def test_what_was_rejected_never_wins_unless_it_is_accepted_later() -> None:
    kept = archive(train=1)
    tell(kept, 0, result("t0", 0.0))
    rejected = tell(kept, 1, result("t0", 9.0))
    kept.ranking.judge(rejected, "rejected")
    assert best(kept) == (0, 0.0)

    kept.ranking.judge(rejected, "accepted")
    assert best(kept) == (1, 9.0)


def test_finalists_are_the_best_and_the_initial_candidate() -> None:
    kept = archive(train=1)
    tell(kept, 0, result("t0", 2.5))
    for x in range(1, 6):
        tell(kept, x, result("t0", float(x)))

    assert kept.ranking.finalists(3) == ["c5", "c4", "c3", "c0"]
    assert kept.ranking.finalists(4) == ["c5", "c4", "c3", "c0"]


def test_what_was_measured_in_part_is_no_finalist_until_the_rest_is_measured_too() -> None:
    kept = archive(validation=2)
    for x, scores in {0: [1.0, 1.0], 1: [2.0, 2.0], 2: [9.0]}.items():
        for n, score in enumerate(scores):
            tell(kept, x, result(f"v{n}", score))

    assert kept.ranking.finalists(3) == ["c1", "c0"]
    tell(kept, 2, result("v1", 9.0))
    assert kept.ranking.finalists(3) == ["c2", "c1", "c0"]


def test_the_leader_on_train_is_a_finalist_whatever_was_measured_on_validation_since() -> None:
    kept = archive(train=1, validation=1)
    tell(kept, 0, result("t0", 0.0))
    best_on_train = tell(kept, 1, result("t0", 9.0))
    tell(kept, 2, result("t0", 9.0))
    tell(kept, 3, result("v0", 1.0))

    assert kept.ranking.finalists(3) == ["c3", best_on_train, "c0"], "of equal ones the first"
    kept.ranking.compare_on(["v0"])
    assert kept.ranking.finalists(3) == ["c3", best_on_train, "c0"]


def test_a_reader_without_plugins_knows_the_mean_alone() -> None:
    assert mean_alone("mean") is mean
    assert mean_alone("harmonic") is mean_alone("worst") is mean_alone("") is None


def test_a_batch_has_a_score_only_when_all_of_it_counts() -> None:
    good, failed, missed = (
        Feedback(score=3.0),
        Feedback(score=9.0, status="invalid"),
        Feedback(score=9.0, status="not_measured"),
    )

    assert aggregate_score([good, good], None, mean) == 3.0
    assert aggregate_score([good, failed], -1.0, mean) == 1.0
    assert aggregate_score([good, failed], None, mean) is None
    assert aggregate_score([good, missed], -1.0, mean) is None
    assert aggregate_score([], 0.0, mean) is None
    assert aggregate_score([failed], None, mean) is None


def test_metrics_reach_an_aggregate_that_asks_for_them_by_example() -> None:
    def hardest(_scores: Sequence[float], metrics: Sequence[Mapping[str, float]] = ()) -> float:
        return min(m.get("size", 0.0) for m in metrics)

    ranking = Ranking(train=["a", "b"], validation=[], worst_score=None, aggregate=hardest)
    for id_, sizes in {"c0": (1.0, 2.0), "c1": (3.0, 4.0)}.items():
        ranking.see(id_)
        for example, size in zip("ab", sizes, strict=True):
            ranking.record(id_, example, score=0.0, status="ok", metrics={"size": size})

    assert (ranking.best, ranking.best_score) == ("c1", 3.0)


def test_measuring_says_whether_the_best_changed_or_its_score() -> None:
    ranking = Ranking(train=["a"], validation=[], worst_score=None)
    for id_ in ("c0", "c1"):
        ranking.see(id_)

    def tell_score(id_: str, score: float) -> bool:
        return ranking.record(id_, "a", score=score, status="ok", metrics={})

    assert [tell_score("c0", 1.0), tell_score("c1", 0.5), tell_score("c0", 1.0), tell_score("c0", 4.0)] == [
        True, False, False, True,
    ]  # fmt: skip


def test_the_initial_candidate_alone_does_not_make_validation_the_set() -> None:
    kept = archive(validation=1)
    tell(kept, 0, result("v0", 9.0), result("t0", 0.0), result("t1", 0.0))
    tell(kept, 1, result("t0", 1.0), result("t1", 1.0))

    assert best(kept) == (1, 1.0)


def test_what_is_missing_elsewhere_does_not_bar_on_the_set() -> None:
    kept = archive(train=1, validation=1)
    kept.ranking.compare_on(["v0"])
    tell(kept, 1, result("t0", status="not_measured"), result("v0", 2.0))

    assert best(kept) == (1, 2.0)


def test_a_verdict_on_nobody_or_without_a_decision_changes_nothing() -> None:
    kept = archive(train=1)
    tell(kept, 0, result("t0", 0.0))
    one = tell(kept, 1, result("t0", 9.0))
    kept.ranking.judge("c77", "rejected")
    kept.ranking.judge(one, "indecisive")
    assert best(kept) == (1, 9.0)
    kept.ranking.judge(one, "rejected")
    kept.ranking.judge(one, "indecisive")
    assert best(kept) == (0, 0.0)


def test_a_score_that_falls_leaves_its_old_place_in_the_order() -> None:
    kept = archive(train=1)
    tell(kept, 0, result("t0", 0.0))
    tell(kept, 1, result("t0", 5.0))
    tell(kept, 2, result("t0", 4.0))
    tell(kept, 1, result("t0", 0.0))

    assert kept.ranking.finalists(9) == ["c2", "c1", "c0"]
    tell(kept, 2, result("t0", 40.0))
    assert kept.ranking.finalists(9) == ["c2", "c1", "c0"]


def test_a_last_candidate_that_was_measured_whole_or_elsewhere_is_no_finalist_by_that() -> None:
    kept = archive(validation=2)
    for x, score in {0: 1.0, 1: 9.0, 2: 5.0, 3: 2.0}.items():
        tell(kept, x, result("v0", score), result("v1", score))
    assert kept.ranking.finalists(1) == ["c1", "c0"], "c3 was measured on all of the set, and is not among the best"

    tell(kept, 4, result("t0", 9.0))
    assert kept.ranking.finalists(1) == ["c1", "c0"], "c4 was measured on none of the set"
