"""Guided local search for the travelling salesman problem: the heuristic distorts distances to leave local optima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.basic.options import GlsOptions
from tracebench_llm4ad.basic.tour_search import Tour, descend, improve_around, tour_length
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.plane import Floats, distances, held_karp_bound
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Heuristic, Verdict, invalid
from tracebench_llm4ad.returned import array

LARGEST = 1e6
"""Of an entry of the returned matrix, in absolute value: above it, sums of distances lose their digits."""

PROGRAM = '''
import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Leave the distances as they are."""
    return edge_distance.copy()
'''

OBJECTIVE = """
Design how guided local search leaves local optima of the travelling salesman problem. A local search (2-opt and moving single cities) \
first finds a locally shortest tour. Then, again and again: your function returns a distorted distance matrix, the local search goes \
on from the present tour under the distorted distances, and then under the true ones, to a new locally shortest tour.
`update_edge_distance(edge_distance, local_opt_tour, edge_n_used)` is called 20 times per instance unless configured otherwise.
- `edge_distance` (float array, shape (n, n)): the true Euclidean distances of cities uniform in the unit square (n = 50 unless \
configured otherwise); symmetric, zero diagonal.
- `local_opt_tour` (int array, shape (n,)): the present locally shortest tour, as a permutation of the cities.
- `edge_n_used` (int array, shape (n, n)): how often you have made each edge longer than its true distance so far; symmetric.
Return a float array of shape (n, n), the distorted distances, with no entry beyond 1e6 in absolute value; the mean of it and its \
transpose is used, and its diagonal is ignored.
Score: the mean true length of the shortest tour found; shorter is better. Second objective: the processor \
seconds of the program over all calls for one instance, its other threads included; fewer is better.
"""


PENALTIES_OBJECTIVE = """
Design how guided local search leaves local optima of the travelling salesman problem. A local search (2-opt and moving single cities) \
first finds a locally shortest tour. Then, again and again: your function returns a distorted distance matrix; the {penalised} edges \
that it lengthens most are counted as penalised, and for each end of such an edge the best single move that involves it is made under \
the distorted distances; the local search then goes on under the true ones to a new locally shortest tour.
`update_edge_distance(edge_distance, local_opt_tour, edge_n_used)` is called once for each round.
- `edge_distance` (float array, shape (n, n)): the true Euclidean distances of cities uniform in the unit square; symmetric, zero diagonal.
- `local_opt_tour` (int array, shape (n,)): the present locally shortest tour, as a permutation of the cities.
- `edge_n_used` (int array, shape (n, n)): how often each edge was penalised so far; symmetric.
Return a float array of shape (n, n), the distorted distances, with no entry beyond 1e6 in absolute value; the mean of it and its \
transpose is used, and its diagonal is ignored.
Score: the mean true length of the shortest tour found; shorter is better. Second objective: the seconds that all calls for one \
instance take; fewer is better.
"""


@dataclass(frozen=True, slots=True)
class Cities:
    """The distance matrix, shape (n, n)."""

    distance: Floats


@dataclass(frozen=True, slots=True)
class Found:
    """The best tour, the true length of each tour met, and the seconds that the heuristic took."""

    tour: npt.NDArray[np.int64]
    lengths: tuple[float, ...]
    seconds: float


class GlsEvaluator(Evaluator[Cities]):
    """The local search is trusted code; the candidate only returns matrices."""

    name = "optimization/tsp_gls_2O"
    entry = "update_edge_distance"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Held-Karp lower bound"
    options: GlsOptions

    def __init__(self, options: GlsOptions) -> None:
        super().__init__(options)
        self.size, self.perturbations = options.problem_size, options.perturbations
        if options.search == "penalties":
            self.objective = PENALTIES_OBJECTIVE.format(penalised=options.penalised)

    def generate(self, rng: np.random.Generator) -> Cities:
        """Draw `problem_size` points uniformly from the unit square."""
        return Cities(distances(rng.random((self.size, 2))))

    def solve(self, instance: Cities, heuristic: Heuristic) -> Found:
        """Run the guided local search from the nearest-neighbour tour."""
        before = heuristic.seconds
        true = instance.distance
        used = np.zeros(true.shape, dtype=np.int64)
        tour = descend(nearest_neighbour(true), true)
        best, lengths = tour, [tour_length(tour, true)]
        for _ in range(self.perturbations):
            answer = array(heuristic(true, tour, used), shape=true.shape, what="a distance matrix")
            if np.abs(answer).max() > LARGEST:
                raise invalid(f"A returned distance is {np.abs(answer).max():.3g}; at most {LARGEST:g} is allowed.")
            distorted = (answer + answer.T) / 2
            np.fill_diagonal(distorted, 0.0)
            if self.options.search == "penalties":
                tour = descend(self._penalise(tour, distorted, true, used), true)
            else:
                used += distorted > true + 1e-12
                tour = descend(descend(tour, distorted), true)
            lengths.append(tour_length(tour, true))
            if lengths[-1] <= min(lengths):
                best = tour
        return Found(best, tuple(lengths), heuristic.seconds - before)

    def _penalise(self, tour: Tour, distorted: Floats, true: Floats, used: npt.NDArray[np.int64]) -> Tour:
        """Count the edges that are lengthened most as penalised, and move their ends as the distorted distances have it."""
        longer = np.triu(distorted - true, 1)
        for edge in np.argsort(-longer, axis=None, kind="stable")[: self.options.penalised]:
            ends = np.unravel_index(int(edge), longer.shape)
            if longer[ends] <= 0:
                break
            used[ends] += 1
            used[ends[::-1]] += 1
            for city in ends:
                tour = improve_around(tour, int(city), distorted)
        return tour

    def judge(self, instance: Cities, solution: Any) -> Verdict:
        """Value the best tour anew."""
        found: Found = solution
        if not np.array_equal(np.sort(found.tour), np.arange(len(instance.distance))):
            raise invalid("The tour must visit every city exactly once.")
        distinct = len({round(length, 9) for length in found.lengths})
        return Verdict(
            tour_length(found.tour, instance.distance),
            f"The search began at {found.lengths[0]:.4f} and met {distinct} different local optima in {len(found.lengths) - 1} steps.",
            {"seconds": found.seconds},
        )

    def draw(self, instance: Cities, solution: Any) -> Drawing:
        """Draw it."""
        return kinds.routes(kinds.places(instance.distance), [solution.tour.tolist()])

    def bound(self, instance: Cities) -> float:
        """Return the Held-Karp bound."""
        return held_karp_bound(instance.distance)


def nearest_neighbour(distance: Floats) -> npt.NDArray[np.int64]:
    """Return the nearest-neighbour tour from city 0."""
    left = np.arange(1, len(distance))
    tour = [0]
    while len(left):
        k = int(np.argmin(distance[tour[-1], left]))
        tour.append(int(left[k]))
        left = np.delete(left, k)
    return np.array(tour, dtype=np.int64)


build = loader(GlsEvaluator, GlsOptions)
"""Build the task."""
