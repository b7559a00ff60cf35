"""The decomposition function of MOEA/D (Zhang and Li 2007), run by pymoo in trusted code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo.moead import MOEAD  # type: ignore[import-untyped]
from pymoo.core.decomposition import Decomposition  # type: ignore[import-untyped]
from pymoo.indicators.hv import HV  # type: ignore[import-untyped]
from pymoo.optimize import minimize  # type: ignore[import-untyped]
from pymoo.problems import get_problem  # type: ignore[import-untyped]
from pymoo.util.ref_dirs import get_reference_directions  # type: ignore[import-untyped]

from tracebench_llm4ad.basic.options import MoeadOptions
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.drawings.drawing import BOUND, Drawing
from tracebench_llm4ad.evaluator import Evaluator, Heuristic, Verdict, invalid
from tracebench_llm4ad.returned import array

OBJECTIVES = 3
PARTITIONS = 6
NEIGHBOURS = 8
REFERENCE = 1.1
"""The hypervolume's reference point, on every axis."""
IDEAL_HYPERVOLUME = REFERENCE**OBJECTIVES - np.pi / 6

PROGRAM = '''
import numpy as np


def custom_decomposition(F: np.ndarray, weights: np.ndarray, ideal_point: np.ndarray) -> np.ndarray:
    """Weighted sum."""
    return np.sum((F - ideal_point) * weights, axis=1)
'''

OBJECTIVE = f"""
Design the decomposition function of MOEA/D, the evolutionary algorithm that splits a multi-objective problem into scalar subproblems, \
one per weight vector. An offspring replaces the solutions of neighbouring subproblems for which your function ranks it lower.
`custom_decomposition(F, weights, ideal_point)` is called twice per offspring.
- `F` (float array, shape (k, {OBJECTIVES})): objective vectors to rank, to be minimised; k is 1 to {NEIGHBOURS}.
- `weights` (float array, shape (m, {OBJECTIVES})): the weight vector of each subproblem, non-negative and summing to 1. Row by row it \
belongs to `F`; where F has one row, it is the offspring, to be ranked under each of the m weights (numpy broadcasts `F - ideal_point` \
times `weights` to the right shape).
- `ideal_point` (float array, shape ({OBJECTIVES},)): the lowest value of each objective so far.
Return a float array of shape (max(k, m),): lower is better. NaN and infinity are refused.
The problem is DTLZ2 with {OBJECTIVES} objectives and 8 to 12 variables: its front is the part of the unit sphere with non-negative \
coordinates. There are 28 subproblems and 20 generations unless configured otherwise.
Score: the mean hypervolume of the final solutions that no other dominates, against the reference point \
({REFERENCE}, {REFERENCE}, {REFERENCE}); higher is better. The whole front would have {IDEAL_HYPERVOLUME:.4f}.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the algorithm: DTLZ2 of that many variables, everything else from the seed."""

    variables: int
    seed: int


class HeuristicDecomposition(Decomposition):  # type: ignore[misc]
    """The candidate in the place of pymoo's own decompositions; its ideal point comes from the algorithm."""

    def __init__(self, heuristic: Heuristic) -> None:
        super().__init__()
        self._heuristic = heuristic

    def _do(self, F: Any, weights: Any, **_: Any) -> npt.NDArray[np.float64]:  # noqa: N803 - pymoo's names
        rows = max(len(F), len(weights))
        answer = self._heuristic(
            np.asarray(F, dtype=float), np.asarray(weights, dtype=float), np.asarray(self.ideal_point)
        )
        return array(answer, shape=(rows,), what="one value per objective vector and weight")


class MoeadEvaluator(Evaluator[Run]):
    """A solution is the decision variables of the final population."""

    name = "optimization/pymoo_moead"
    entry = "custom_decomposition"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the hypervolume of the whole front"

    def __init__(self, options: MoeadOptions) -> None:
        super().__init__(options)
        self.generations = options.n_gen
        self.directions = get_reference_directions("uniform", OBJECTIVES, n_partitions=PARTITIONS)

    def generate(self, rng: np.random.Generator) -> Run:
        """Draw 8 to 12 variables and the algorithm's seed."""
        return Run(int(rng.integers(8, 13)), int(rng.integers(2**31)))

    def solve(self, instance: Run, heuristic: Heuristic) -> npt.NDArray[np.float64]:
        """Run MOEA/D with the heuristic as decomposition."""
        algorithm = MOEAD(
            self.directions,
            n_neighbors=NEIGHBOURS,
            decomposition=HeuristicDecomposition(heuristic),
            prob_neighbor_mating=0.7,
        )
        problem = get_problem("dtlz2", n_var=instance.variables, n_obj=OBJECTIVES)
        result = minimize(problem, algorithm, ("n_gen", self.generations), seed=instance.seed, copy_algorithm=False)
        final: npt.NDArray[np.float64] = result.pop.get("X")
        return final

    def judge(self, instance: Run, solution: Any) -> Verdict:
        """Evaluate the variables again and value the hypervolume of what they reach."""
        variables = np.asarray(solution, dtype=float)
        if variables.ndim != 2 or variables.min() < 0 or variables.max() > 1:  # noqa: PLR2004 - a matrix
            raise invalid("Every variable must lie between 0 and 1.")
        reached = get_problem("dtlz2", n_var=instance.variables, n_obj=OBJECTIVES).evaluate(variables)
        volume = float(HV(ref_point=np.full(OBJECTIVES, REFERENCE))(reached))
        distances = np.sqrt((reached**2).sum(axis=1)) - 1
        apart = len(np.unique(reached.round(3), axis=0))
        return Verdict(
            volume,
            f"With {instance.variables} variables the final solutions are on average {distances.mean():.4f} away from the front, and "
            f"{apart} of {len(reached)} are distinct.",
        )

    def draw(self, instance: Run, solution: Any) -> Drawing:
        """Draw it."""
        reached = get_problem("dtlz2", n_var=instance.variables, n_obj=OBJECTIVES).evaluate(
            np.asarray(solution, dtype=float)
        )
        drawing = Drawing(
            note="what was reached; the front is the arc", is_map=False, across="objective 1", up="objective 2"
        )
        angles = np.linspace(0, np.pi / 2, 60)
        drawing.line(np.column_stack([np.cos(angles), np.sin(angles)]).tolist(), BOUND)
        drawing.dots(reached[:, :2].tolist())
        return drawing

    def bound(self, instance: Run) -> float:
        """Return the cube of the reference point less the ball's octant."""
        return float(IDEAL_HYPERVOLUME)


build = loader(MoeadEvaluator, MoeadOptions)
"""Build the task."""
