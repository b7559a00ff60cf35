"""Formulas of the Feynman Lectures, found from tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field, field_validator

from tracebench_core.ids import did_you_mean
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import DataSet, Law, draw_points
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator
from tracebench_llm4ad.science.feynman_laws import FORMULAS
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.science.options import ScienceOptions


class FeynmanOptions(ScienceOptions):
    """As for the other laws, and which formula."""

    law: str = Field(default="I.6.20")
    """The formula's number in the Feynman Lectures, volume first."""

    @field_validator("law")
    @classmethod
    def _known(cls, law: str) -> str:
        if law not in FORMULAS:
            raise ValueError(f"no formula `{law}`.{did_you_mean(law, FORMULAS)} Known: {', '.join(FORMULAS)}")
        return law


class Feynman(EquationEvaluator):
    """The quantities are the columns of one table."""

    name = "science_discovery/feynman_srsd"
    target = "y"
    options: FeynmanOptions
    program = '''
def equation(xs: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the value of the formula for each row of `xs`."""
    return params[0] * xs[:, 0] + params[1] * xs[:, -1] + params[2]
'''

    def __init__(self, options: FeynmanOptions) -> None:
        super().__init__(options)
        formula = FORMULAS[options.law]
        self._by_columns = law = formula.law()
        self.law = Law(lambda xs, *c: law.function(*np.asarray(xs).T, *c), law.constants, law.inside, law.outside)
        self.inputs = [f"xs[:, {i}]" for i in range(len(formula.quantities))]
        columns = "; ".join(
            f"`xs[:, {i}]` is the {name}, fitted from {inside.low:g} to {inside.high:g}"
            for i, (name, inside) in enumerate(zip(formula.quantities, formula.ranges, strict=True))
        )
        self.objective = f"""
Find a formula of physics: write `equation`, which gives the {formula.target} from {len(formula.quantities)} measured quantities. The \
formula describes {formula.title}.

Arguments: `xs` (array of shape (n, {len(formula.quantities)}), one row for each measurement: {columns}; judged beyond these ranges too; \
units are chosen so that values are near 1), `params` (shape (10,), the constants).
Return an array of shape (n,): the {formula.target} for each row. Constants of nature have whatever value the units give them: leave \
them to `params`.
{HOW}"""

    def generate(self, rng: np.random.Generator) -> DataSet:
        """Draw a data set as for every law, its inputs as one table."""
        options = self.options
        data = draw_points(self._by_columns, rng, rows=options.rows, spread=options.spread, noise=options.noise)
        return DataSet(
            fit_inputs=(np.column_stack(data.fit_inputs),),
            fit_targets=data.fit_targets,
            held_inputs=(np.column_stack(data.held_inputs),),
            held_targets=data.held_targets,
            inside=data.inside,
        )

    def table(self, inputs: Sequence[Vector]) -> Sequence[Vector]:
        """Return the columns of the table."""
        return list(inputs[0].T)


build = loader(Feynman, FeynmanOptions, task=EquationTask)
"""Build the task."""
