"""A damped nonlinear oscillator: acceleration from position and velocity."""

from __future__ import annotations

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import Law, Range
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.science.options import ScienceOptions


def acceleration(x: Vector, v: Vector, f: float, a: float, b: float, c: float, w: float) -> Vector:  # noqa: PLR0917 - a formula
    """Return f sin(w x) - a v^3 - b x^3 - c x v - x cos(x): `oscillator 1` of LLM-SR (arXiv:2404.18400, section 4)."""
    return f * np.sin(w * x) - a * v**3 - b * x**3 - c * x * v - x * np.cos(x)


class Oscillator1(EquationEvaluator):
    """States are drawn from a square, so no row is the neighbour of another in time."""

    name = "science_discovery/oscillator1"
    law = Law(
        function=acceleration,
        constants=(0.8, 0.5, 0.2, 0.5, 1.0),
        inside=(Range(-2.0, 2.0), Range(-1.5, 1.5)),
        outside=(Range(-3.0, 3.0), Range(1.5, 2.0)),
    )
    inputs = ("x", "v")
    target = "acceleration"
    program = '''
def equation(x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the acceleration of the oscillator at each observed state."""
    return params[0] * x + params[1] * v + params[2]
'''
    objective = f"""
Find the law of motion of a damped nonlinear oscillator without an external clock: write `equation`, which gives its acceleration from \
position and velocity (all quantities dimensionless).

Arguments: `x` (array of shape (n,), positions, fitted between -2 and 2), `v` (shape (n,), velocities, fitted between -1.5 and 1.5; \
judged up to |x| = 3 and v = 2 too), `params` (shape (10,), the constants).
Return an array of shape (n,): the acceleration dv/dt for each row. Think of restoring forces that are not linear (powers, sines, \
cosines of x), of damping that is not linear, and of terms that mix x and v.
{HOW}"""


build = loader(Oscillator1, ScienceOptions, task=EquationTask)
"""Build the task."""
