"""The verifiers on solutions written by hand: what is infeasible is refused however good it looks, by numbers."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.contracts import EvaluationFailed
from tracebench_llm4ad.basic import admissible_set, tour_search
from tracebench_llm4ad.basic.circle_packing import BEST_KNOWN, TOLERANCE, CirclePackingEvaluator
from tracebench_llm4ad.basic.online_bin_packing import Packing
from tracebench_llm4ad.basic.options import CirclePackingOptions
from tracebench_llm4ad.constructive.bp_2d import Place, first_fit
from tracebench_llm4ad.constructive.plane import distances, held_karp_bound, spanning_tree
from tracebench_llm4ad.packing_bound import martello_toth

PACKINGS = json.loads(Path(__file__).with_name("packings.json").read_text())
CIRCLES = CirclePackingEvaluator(CirclePackingOptions())


def judge(task: Any, solution: Any) -> float:
    """Judge a solution of the first training instance."""
    value = task.evaluator.judge(task.splits["train"][0].input[0].instance, solution).value
    assert isinstance(value, float)
    return value


def instance_of(task: Any) -> Any:
    return task.splits["train"][0].input[0].instance


class Ranks:
    """A priority that depends on the vector alone."""

    def many(self, arguments: list[tuple[tuple[int, ...], int, int]]) -> list[float]:
        return [float(hash(tuple(el)) % 97) for el, *_ in arguments]


@pytest.mark.parametrize("n", sorted(map(int, PACKINGS)))
def test_the_best_known_packings_verify_and_are_the_bound(n: int) -> None:
    assert CIRCLES.judge(n, PACKINGS[str(n)]).value == pytest.approx(BEST_KNOWN[n], abs=1e-9)


def test_a_packing_may_not_overlap_by_a_millionth() -> None:
    circles = np.array(PACKINGS["26"])
    tight = min(
        itertools.combinations(range(26), 2),
        key=lambda pair: (
            math.dist(circles[pair[0], :2], circles[pair[1], :2]) - circles[pair[0], 2] - circles[pair[1], 2]
        ),
    )
    circles[tight[0], 2] += 1e-6
    with pytest.raises(EvaluationFailed, match=r"overlap by 1e-06|leaves the square by 1e-06"):
        CIRCLES.judge(26, circles)


def test_rounding_is_tolerated_and_nothing_else() -> None:
    pair = np.array([[0.25, 0.5, 0.25], [0.75, 0.5, 0.25]])
    assert CIRCLES.judge(2, pair).value == 0.5
    within, beyond = pair.copy(), pair.copy()
    within[:, 2] += TOLERANCE / 4
    beyond[0, 2] += 10 * TOLERANCE
    assert CIRCLES.judge(2, within).value == pytest.approx(0.5)
    with pytest.raises(EvaluationFailed, match="leaves the square by"):
        CIRCLES.judge(2, beyond)


@pytest.mark.parametrize(
    ("circles", "words"),
    [
        ([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], "overlap by 1"),
        ([[0.5, 0.5, 0.6], [0.1, 0.1, 0.0]], r"Circle 0 at .* leaves the square by 0.1"),
        ([[0.5, 0.5, -0.1], [0.2, 0.2, 0.2]], "negative radius"),
        ([[0.5, 0.5, math.nan], [0.2, 0.2, 0.2]], r"without NaN or infinity; entry \(0, 2\)"),
        ([[0.5, 0.5, 0.5]], r"shape \(2, 3\); it returned shape \(1, 3\)"),
    ],
)
def test_a_broken_packing_is_refused_with_the_violation(circles: Any, words: str) -> None:
    with pytest.raises(EvaluationFailed, match=words):
        CIRCLES.judge(2, circles)


def test_tours_and_routes_visit_every_node_once_within_the_rules(build: Any) -> None:
    tsp = build("optimization/tsp_construct", problem_size=6, n_train=1)
    for short in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4], [0, 0, 0, 0, 0, 0], []):
        with pytest.raises(EvaluationFailed, match="each of the 6 cities exactly once"):
            judge(tsp, short)
    cvrp = build("optimization/cvrp_construct", problem_size=30, n_train=1)
    with pytest.raises(EvaluationFailed, match="each of the 30 customers exactly once"):
        judge(cvrp, [[1, 2]])
    with pytest.raises(EvaluationFailed, match="does not fit a vehicle"):
        judge(cvrp, [list(range(1, 31))])
    vrptw = build("optimization/vrptw_construct", problem_size=30, capacity=1000, n_train=1)
    latest_first = sorted(range(1, 31), key=lambda k: -instance_of(vrptw).windows[k, 1])
    with pytest.raises(EvaluationFailed, match="does not fit a vehicle"):
        judge(vrptw, [latest_first])
    assert judge(vrptw, [[k] for k in range(1, 31)]) == pytest.approx(2 * instance_of(vrptw).distance[0].sum())


def test_bins_do_not_overflow_and_hold_every_item(build: Any) -> None:
    bp_1d = build("optimization/bp_1d_construct", n_items=10, n_train=1)
    with pytest.raises(EvaluationFailed, match="Bin 0 holds"):
        judge(bp_1d, [list(instance_of(bp_1d).sizes)])
    with pytest.raises(EvaluationFailed, match="exactly once"):
        judge(bp_1d, [[1]])
    online = build("optimization/online_bin_packing", n_items=10, n_train=1)
    with pytest.raises(EvaluationFailed, match="Bin 0 holds"):
        judge(online, Packing((0,) * 10, 0.0))
    with pytest.raises(EvaluationFailed, match="exactly once"):
        judge(online, Packing((0,) * 9, 0.0))
    bp_2d = build("optimization/bp_2d_construct", n_items=4, n_train=1)
    sizes = instance_of(bp_2d).sizes
    with pytest.raises(EvaluationFailed, match="Rectangles overlap in bin 0"):
        judge(bp_2d, [Place(0, 0, 0, size) for size in sizes])
    with pytest.raises(EvaluationFailed, match="leaves bin"):
        judge(bp_2d, [Place(k, 29, 0, size) for k, size in enumerate(sizes)])


def test_the_other_solutions_are_checked_too(build: Any) -> None:
    knapsack = build("optimization/knapsack_construct", n_train=1)
    with pytest.raises(EvaluationFailed, match="packed items weigh"):
        judge(knapsack, list(range(50)))
    with pytest.raises(EvaluationFailed, match="packed twice"):
        judge(knapsack, [3, 3])
    assert judge(knapsack, []) == 0
    cover = build("optimization/set_cover_construct", n_train=1)
    with pytest.raises(EvaluationFailed, match="is not covered"):
        judge(cover, [instance_of(cover).subsets[0]])
    with pytest.raises(EvaluationFailed, match="not one of the instance's"):
        judge(cover, [list(range(50))])
    cflp = build("optimization/cflp_construct", n_train=1)
    with pytest.raises(EvaluationFailed, match=r"Facility 0 serves \d+ of a capacity of \d+"):
        judge(cflp, [0] * 50)
    qap = build("optimization/qap_construct", n_train=1)
    with pytest.raises(EvaluationFailed, match="a location of its own"):
        judge(qap, [0] * 30)
    jssp = build("optimization/jssp_construct", n_train=1)
    with pytest.raises(EvaluationFailed, match="exactly once"):
        judge(jssp, [0] * 200)
    moead = build("optimization/pymoo_moead")
    with pytest.raises(EvaluationFailed, match="between 0 and 1"):
        judge(moead, np.full((28, instance_of(moead).variables), -1.0))


def test_the_knapsack_is_maximised_and_so_is_the_hypervolume(build: Any) -> None:
    for name in (
        "optimization/knapsack_construct",
        "optimization/pymoo_moead",
        "optimization/admissible_set",
        "circle_packing",
    ):
        assert build(name).spec.direction == "maximize"
    task = build("optimization/knapsack_construct", n_train=1, n_instance=1)
    example = task.splits["train"][0]
    assert task.guide(example, [[]], None).score < task.guide(example, [[0]], None).score


@pytest.mark.parametrize(("n", "w"), [(6, 3), (6, 4), (9, 5), (9, 6)])
def test_a_symmetric_set_is_admissible_vector_by_vector(build: Any, n: int, w: int) -> None:
    task = build("optimization/admissible_set", train=[[n, w]], validation=[], test=[])
    words = task.evaluator.solve((n, w), Ranks())
    orbits = [[block[k:] + block[:k] for k in range(3)] for block in admissible_set.BLOCKS]
    vectors = {sum(parts, ()) for word in words for parts in itertools.product(*(orbits[symbol] for symbol in word))}
    assert len(vectors) == task.evaluator.judge((n, w), words).value
    assert len({tuple(v != 0 for v in vector) for vector in vectors}) == len(vectors)
    good = ([0, 1, 2], [0, 0, 1], [0, 0, 2])
    table = np.array(
        [[[sorted(t) in good for t in itertools.product([a], [b], range(3))] for b in range(3)] for a in range(3)]
    )
    matrix = np.array(sorted(vectors))
    for k, first in enumerate(matrix):
        for second in matrix[:k]:
            fine = table[first, second, matrix].any(axis=1)
            same = (matrix == first).all(axis=1) | (matrix == second).all(axis=1)
            assert (fine | same).all()


def test_a_word_that_conflicts_is_refused(build: Any) -> None:
    task = build("optimization/admissible_set")
    with pytest.raises(EvaluationFailed, match="not admissible"):
        task.evaluator.judge((6, 3), [(1, 3), (2, 3)])


def test_bounds_hold_on_small_instances() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        matrix = distances(rng.random((7, 2)))
        best = min(
            tour_search.tour_length(np.array([0, *order]), matrix) for order in itertools.permutations(range(1, 7))
        )
        assert spanning_tree(matrix).length < held_karp_bound(matrix) <= best + 1e-9


@given(st.lists(st.integers(1, 100), min_size=1, max_size=7))
def test_the_bin_bound_never_exceeds_the_optimum(items: list[int]) -> None:
    def best(rest: tuple[int, ...], free: tuple[int, ...]) -> int:
        if not rest:
            return len(free)
        item, rest = rest[0], rest[1:]
        fitting = [best(rest, (*free[:k], free[k] - item, *free[k + 1 :])) for k in range(len(free)) if free[k] >= item]
        return min([*fitting, best(rest, (*free, 100 - item))])

    assert martello_toth(items, 100) <= best(tuple(sorted(items, reverse=True)), ())


def test_a_descent_ends_in_a_tour_that_no_move_shortens() -> None:
    matrix = distances(np.random.default_rng(5).random((30, 2)))
    tour = tour_search.descend(np.arange(30), matrix)
    assert sorted(tour) == list(range(30))
    length = tour_search.tour_length(tour, matrix)
    for i, j in itertools.combinations(range(30), 2):
        turned = np.concatenate([tour[:i], tour[i : j + 1][::-1], tour[j + 1 :]])
        moved = np.insert(np.delete(tour, i), j, tour[i])
        assert min(tour_search.tour_length(turned, matrix), tour_search.tour_length(moved, matrix)) >= length - 1e-8


def test_a_rectangle_is_placed_at_the_lowest_free_x_then_y() -> None:
    cells = np.zeros((4, 4), dtype=np.int8)
    cells[0, 0] = 1
    assert first_fit(cells, 2, 2) == (0, 1)
    assert first_fit(cells, 4, 1) == (0, 1)
    assert first_fit(cells, 4, 4) is None
    assert first_fit(cells, 5, 1) is None


def test_flows_and_distances_are_symmetric_as_taillards(build: Any) -> None:
    task = build("optimization/qap_construct", n_facilities=12)
    for case in task.splits["train"][0].input:
        for table in (case.instance.flow, case.instance.distance):
            assert (table == table.T).all()
            assert not table.diagonal().any()
            assert 0 < table.max() <= 99
