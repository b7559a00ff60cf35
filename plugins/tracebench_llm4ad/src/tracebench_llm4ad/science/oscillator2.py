"""A driven, damped nonlinear oscillator: acceleration from time, position and velocity."""

from __future__ import annotations

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import Law, Range
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.science.options import ScienceOptions


def acceleration(t: Vector, x: Vector, v: Vector, f: float, w: float, a: float, b: float, d: float, g: float) -> Vector:  # noqa: PLR0917 - a formula
    """Return f sin(w t) - a v^3 - b x v - d x exp(g x): `oscillator 2` of LLM-SR (arXiv:2404.18400, section 4)."""
    return f * np.sin(w * t) - a * v**3 - b * x * v - d * x * np.exp(g * x)


class Oscillator2(EquationEvaluator):
    """States and times are drawn from a box, so no row is the neighbour of another in time."""

    name = "science_discovery/oscillator2"
    law = Law(
        function=acceleration,
        constants=(0.3, 1.0, 0.5, 1.0, 5.0, 0.5),
        inside=(Range(0.0, 12.0), Range(-0.5, 0.5), Range(-1.0, 1.0)),
        outside=(Range(12.0, 15.0), Range(-0.75, 0.75), Range(-1.5, 1.5)),
    )
    inputs = ("t", "x", "v")
    target = "acceleration"
    program = '''
def equation(t: np.ndarray, x: np.ndarray, v: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the acceleration of the oscillator at each observed time and state."""
    return params[0] * t + params[1] * x + params[2] * v + params[3]
'''
    objective = f"""
Find the law of motion of a damped nonlinear oscillator that is driven periodically: write `equation`, which gives its acceleration from \
time, position and velocity (all quantities dimensionless).

Arguments: `t` (array of shape (n,), times, fitted between 0 and 12), `x` (shape (n,), positions, fitted between -0.5 and 0.5), `v` \
(shape (n,), velocities, fitted between -1 and 1; judged up to t = 15, |x| = 0.75 and |v| = 1.5 too), `params` (shape (10,), the \
constants).
Return an array of shape (n,): the acceleration dv/dt for each row. Think of a drive that repeats in time, of a restoring force that is \
not linear in x, of damping that is not linear in v, and of terms that mix x and v.
{HOW}"""


build = loader(Oscillator2, ScienceOptions, task=EquationTask)
"""Build the task."""
