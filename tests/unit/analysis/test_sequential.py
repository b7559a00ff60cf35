from __future__ import annotations

import random

import pytest

pytest.importorskip("numpy", reason="numpy follows the boundaries")

from tracebench_analysis.statistics import sequential
from tracebench_analysis.statistics.contrasts import Contrast, contrast, contrast_task
from tracebench_analysis.statistics.sequential import Decision, Looks, crossing, plan_looks
from tracebench_analysis.statistics.sequential import decide as decide_contrast
from tracebench_runs.results.student import quantile


def decide(pairs: list[list[float]], looks: Looks, *, margin: float | None = None) -> Decision:
    return decide_contrast(of_pairs(pairs), looks, margin=margin)


def of_pairs(pairs: list[list[float]]) -> Contrast:
    """Return the contrast with a trainer that always scores 0, every task in its own units."""
    tasks = [contrast_task(str(t), dict(enumerate(p)), dict.fromkeys(range(len(p)), 0.0)) for t, p in enumerate(pairs)]
    found = contrast(tasks, dict.fromkeys(map(str, range(len(pairs))), 1.0))
    assert found is not None
    return found


def test_one_look_has_the_plain_level() -> None:
    assert plan_looks(8, first=8).level == pytest.approx(0.05, abs=2e-4)


def test_the_level_agrees_with_pocock() -> None:
    """Jennison & Turnbull (2000), table 2.1: 5 equal looks at 5 % have the constant 2.413, 10 looks 2.555."""
    assert crossing(2.413, first=1, most=5) == pytest.approx(0.05, abs=1e-3)
    assert crossing(2.555, first=1, most=10) == pytest.approx(0.05, abs=1e-3)


def test_a_coarser_grid_for_many_looks_gives_the_same_level(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse = crossing(3.0, first=1, most=1200)
    monkeypatch.setattr(sequential, "_FINE", 2000)
    assert coarse != (fine := crossing(3.0, first=1, most=1200))
    assert coarse == pytest.approx(fine, rel=2e-3)


@pytest.mark.parametrize("margin", [None, 0.5])
@pytest.mark.parametrize("mean", [0.1, 0.6, 0.3])
def test_how_many_more_seeds_decide_is_the_first_number_that_does(mean: float, margin: float | None) -> None:
    rng = random.Random(2)
    pairs, looks = [[rng.gauss(mean, 1.0) for _ in range(6)] for _ in range(2)], Looks(3, 300, 0.01)
    found = of_pairs(pairs)
    assert found.error is not None

    def decides(n: int) -> bool:
        half = (
            quantile(1 - looks.level / 2, df=max(1, round(found.freedom * (n - 1) / 5))) * found.error * (6 / n) ** 0.5
        )
        return abs(found.estimate) > half or (margin is not None and abs(found.estimate) + half <= margin)

    assert decide(pairs, looks, margin=margin).more == next((n - 6 for n in range(7, 301) if decides(n)), None)


def test_more_looks_ask_for_more_at_each() -> None:
    assert plan_looks(30).level < plan_looks(15).level < 0.05


@pytest.mark.parametrize(("first", "most"), [(1, 5), (5, 4)])
def test_a_plan_without_room_is_refused(first: int, most: int) -> None:
    with pytest.raises(ValueError, match="needs at least"):
        plan_looks(most, first=first)


def test_a_clear_difference_is_decided_and_told_from_its_mirror() -> None:
    pairs = [[0.5, 0.52, 0.49, 0.51, 0.5], [0.3, 0.33, 0.31, 0.3, 0.29]]

    assert decide(pairs, plan_looks(15)).verdict == "better"
    assert decide([[-d for d in task] for task in pairs], plan_looks(15)).verdict == "worse"


def test_an_open_comparison_says_how_many_more_and_an_ended_one_that_nothing_was_found() -> None:
    rng = random.Random(2)
    pairs = [[rng.gauss(0.6, 1.0) for _ in range(6)] for _ in range(2)]

    still = decide(pairs, plan_looks(40))
    ended = decide(pairs, plan_looks(6))

    assert still.verdict == "open"
    assert still.more is not None
    assert 1 <= still.more <= 34
    assert (ended.verdict, ended.more) == ("not resolved", None)


def test_equal_within_a_margin_is_an_answer() -> None:
    pairs = [[0.001, -0.002, 0.0, 0.001, -0.001, 0.002]]

    assert decide(pairs, plan_looks(20), margin=0.02).verdict == "equivalent"
    assert decide(pairs, plan_looks(20)).verdict == "open"


def test_too_few_seeds_decide_nothing() -> None:
    found = decide([[0.5], [0.5]], plan_looks(10))

    assert (found.verdict, found.seeds, found.more) == ("open", 1, 2)


@pytest.mark.parametrize(("seeds", "tasks", "decided"), [(4, 1, False), (5, 1, True), (3, 2, True), (3, 1, False)])
def test_the_first_decision_takes_four_degrees_of_freedom_and_three_seeds(
    seeds: int, tasks: int, decided: bool
) -> None:
    pairs = [[1 + 0.01 * seed for seed in range(seeds)] for _ in range(tasks)]

    assert of_pairs(pairs).observed == tasks * (seeds - 1)
    assert decide(pairs, plan_looks(10)).verdict == ("better" if decided else "open")
    assert decide(pairs, plan_looks(10)).more == (None if decided else 4 - (seeds - 1))
