"""The statistics of logs against what others compute, and against chance."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracebench_analysis.logs.rows import Log, Row
from tracebench_analysis.logs.versus import LogComparison, StandardError, clustered_error, compare_logs, mcnemar


@pytest.fixture(scope="module")
def stats() -> Any:
    """The other library of these statistics. Imported when it is asked: that takes half a second of every process that collects tests."""
    return pytest.importorskip("scipy.stats", reason="the other library of these statistics is not installed")


def log(name: str, *epochs: list[float], clusters: int | None = None) -> Log:
    rows = [
        Row("t", str(i), epoch, {"acc": score}, "same", cluster=None if clusters is None else str(i // clusters))
        for epoch, scores in enumerate(epochs, start=1)
        for i, score in enumerate(scores)
    ]
    return Log(Path(name), name, rows, frozenset({"t"}))


def paired(both: int, won: int, lost: int, neither: int) -> tuple[Log, Log]:
    one = [1.0] * (both + won) + [0.0] * (lost + neither)
    other = [1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * neither
    return log("one", one), log("other", other)


@pytest.mark.parametrize(("won", "lost"), [(9, 1), (3, 0), (1, 9), (0, 0), (40, 40), (700, 760)])
def test_mcnemar_is_the_binomial_test_of_scipy(stats: Any, won: int, lost: int) -> None:
    expected = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0

    assert mcnemar(won, lost) == pytest.approx(expected, rel=1e-9)


def test_a_published_pair_of_198_questions_comes_out_as_published(stats: Any) -> None:
    found = compare_logs(paired(100, 9, 1, 88))  # GPQA 51.0 -> 55.1: McNemar p = 0.021, +4.0 points, 1.0 to 7.1

    (pair,) = found.pairs
    assert pair.verdict == "better"
    assert pair.test == "McNemar, exact"
    assert pair.probability == pytest.approx(stats.binomtest(1, 10).pvalue)
    assert pair.probability == pytest.approx(0.0215, abs=5e-5)
    assert pair.interval.estimate == pytest.approx(8 / 198)
    assert (pair.interval.low, pair.interval.high) == (pytest.approx(0.0095, abs=5e-4), pytest.approx(0.0713, abs=5e-4))


def test_several_epochs_are_scipy_s_paired_t_test_of_the_questions_means(stats: Any) -> None:
    rng = random.Random(3)
    one, other = ([[float(rng.random() < p) for _ in range(50)] for _ in range(4)] for p in (0.7, 0.5))

    (pair,) = compare_logs([log("one", *one), log("other", *other)]).pairs

    expected = stats.ttest_rel(np.mean(one, axis=0), np.mean(other, axis=0))
    interval = expected.confidence_interval()
    sign = 1 if pair.one == "one" else -1
    assert pair.test == "paired t"
    assert pair.probability == pytest.approx(expected.pvalue, rel=1e-6)
    low, high = sorted([sign * interval.low, sign * interval.high])
    assert (pair.interval.low, pair.interval.high) == (pytest.approx(low), pytest.approx(high))


def test_clusters_of_one_are_no_clusters_and_copies_add_nothing(stats: Any) -> None:
    rng = random.Random(1)
    values = [rng.gauss(0, 1) for _ in range(30)]

    alone = clustered_error(values, range(30))
    copied = clustered_error(values * 5, [*range(30)] * 5)

    assert alone is not None
    assert copied is not None
    assert alone.value == pytest.approx(stats.sem(values))
    assert copied.value == pytest.approx(alone.value)
    assert copied.freedom == alone.freedom == 29
    assert clustered_error(values, ["one"] * 30) is None
    assert clustered_error([0.5] * 8, [*"aabbccdd"]) == StandardError(0.0, 3)


def test_questions_copied_within_their_cluster_do_not_make_a_difference_sure() -> None:
    rng = random.Random(8)
    one, other = ([float(rng.random() < p) for _ in range(30) for _ in range(1)] for p in (0.7, 0.55))
    few = compare_logs([log("one", one), log("other", other)])
    copies = [[s for s in side for _ in range(10)] for side in (one, other)]
    naive = compare_logs([log(n, c) for n, c in zip(("one", "other"), copies, strict=True)])
    told = compare_logs([log(n, c, clusters=10) for n, c in zip(("one", "other"), copies, strict=True)])

    assert told.pairs[0].error == pytest.approx(few.pairs[0].error)
    assert told.pairs[0].interval.low == pytest.approx(few.pairs[0].interval.low)
    assert naive.pairs[0].error == pytest.approx(told.pairs[0].error / math.sqrt(10), rel=0.05)  # type: ignore[operator]
    in_questions, in_clusters = few.pairs[0].resolution, told.pairs[0].resolution
    assert in_questions is not None
    assert in_clusters is not None
    assert in_clusters.smallest == pytest.approx(in_questions.smallest)  # as of 30 questions, not of 300
    assert in_clusters.seeds_needed == 10 * in_questions.seeds_needed  # type: ignore[operator]


def test_the_same_log_twice_is_no_difference() -> None:
    scores = [float(i % 3 == 0) for i in range(1319)]  # as many as GSM8K has

    (pair,) = compare_logs([log("one", scores), log("one", scores)]).pairs

    assert pair.verdict == "same"
    assert pair.probability == 1.0
    assert (pair.interval.low, pair.interval.estimate, pair.interval.high) == (0.0, 0.0, 0.0)
    assert pair.more is None


def rejected(tables: int, *, epochs: int, logs: int) -> int:
    """Return how many of so many tables of equal models have a pair that is called different."""
    rng = random.Random(20)
    found = 0
    for _ in range(tables):
        hard = [rng.random() for _ in range(60)]
        drawn = [log(str(i), *([float(rng.random() < p) for p in hard] for _ in range(epochs))) for i in range(logs)]
        found += any(pair.verdict not in {"not resolved", "same"} for pair in compare_logs(drawn).pairs)
    return found


@pytest.mark.parametrize(("epochs", "logs", "tables"), [(1, 2, 400), (3, 2, 200), (3, 3, 100)])
def test_equal_models_are_called_different_in_a_twentieth_of_tables_at_most(
    epochs: int, logs: int, tables: int
) -> None:
    most = 0.05 * tables + 3 * math.sqrt(0.05 * 0.95 * tables)

    assert rejected(tables, epochs=epochs, logs=logs) <= most


def by_pair(found: LogComparison) -> dict[tuple[str, str], float | None]:
    return {(p.one, p.other): p.adjusted for p in found.pairs}


def test_holm_goes_over_all_pairs() -> None:
    rng = random.Random(4)
    logs = [log(n, [float(rng.random() < p) for _ in range(200)]) for n, p in (("a", 0.9), ("b", 0.6), ("c", 0.55))]

    found = compare_logs(logs)

    raw = sorted(p.probability for p in found.pairs if p.probability is not None)
    adjusted = sorted(p for p in by_pair(found).values() if p is not None)
    assert adjusted == pytest.approx([
        3 * raw[0], max(3 * raw[0], 2 * raw[1]), max(3 * raw[0], 2 * raw[1], raw[2]),
    ])  # fmt: skip


def test_the_questions_that_are_asked_for_decide_four_times_in_five() -> None:
    (pair,) = compare_logs(paired(100, 12, 6, 82)).pairs
    assert pair.more is not None
    n = pair.questions + pair.more
    rng = random.Random(6)
    wins = 0
    for _ in range(40):
        drawn = rng.choices(((1, 1), (1, 0), (0, 1), (0, 0)), weights=(100, 12, 6, 82), k=n)
        one, other = ([float(d[side]) for d in drawn] for side in (0, 1))
        wins += compare_logs([log("one", one), log("other", other)]).pairs[0].verdict != "not resolved"

    assert 0.6 <= wins / 40 <= 0.97


def test_more_epochs_help_where_the_noise_is_within_questions_alone() -> None:
    torn = [1.0] * 40, [0.0] * 40
    within = compare_logs([log("one", torn[0], [1.0] * 2 + [0.0] * 38), log("other", *torn)]).pairs[0]
    between = compare_logs(
        [
            log("one", [1.0] * 21 + [0.0] * 19, [1.0] * 21 + [0.0] * 19),
            log("other", [0.0] * 20 + [1.0] * 20, [0.0] * 20 + [1.0] * 20),
        ]
    ).pairs[0]

    assert between.verdict == "not resolved"
    assert between.epochs_needed is None
    assert within.verdict == "not resolved"
    assert within.epochs_needed is not None
    assert within.epochs_needed > 2
