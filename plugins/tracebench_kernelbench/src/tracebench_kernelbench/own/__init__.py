"""Problems of our own, in families; `catalog.OWN` names them without importing them."""

from __future__ import annotations

from tracebench_kernelbench.own import dense, elementwise, irregular, reductions, windows
from tracebench_kernelbench.problem import Problem

PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for family in (dense, elementwise, reductions, windows, irregular)
    for problem in family.PROBLEMS
}
