"""Stress in an aluminium rod under tension: from strain and temperature."""

from __future__ import annotations

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import Law, Range
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.science.options import ScienceOptions

MODULUS = 68.9e3
"""Young's modulus of aluminium 6061-T6 at room temperature, MPa."""
ROOM, MELT = 20.0, 652.0
"""Degrees Celsius."""


def stress(strain: Vector, temp: Vector, a: float, b: float, n: float, m: float) -> Vector:  # noqa: PLR0917 - a formula
    """Return the stress in MPa: elastic up to yield, then by Johnson and Cook's law.

    sigma = (a + b p^n) (1 - T*^m), T* = (temp - 20) / (652 - 20), with p the strain beyond yield, and sigma = E strain below it. Constants
    of aluminium 6061-T6: Lesuer, Kay and LeBlanc, UCRL-JC-134118 (2001); the term for the rate of straining is 1 in a slow test.
    """
    softening = 1 - (np.maximum(temp - ROOM, 0.0) / (MELT - ROOM)) ** m
    onset = a * softening / MODULUS
    plastic = (a + b * np.maximum(strain - onset, 0.0) ** n) * softening
    return np.where(strain < onset, MODULUS * strain, plastic)


class StressStrain(EquationEvaluator):
    """Most of the strains are plastic; one in twelve is elastic. The held-out rows beyond are hotter."""

    name = "science_discovery/stresstrain"
    law = Law(
        function=stress,
        constants=(324.0, 114.0, 0.42, 1.34),
        inside=(Range(0.0, 0.06), Range(20.0, 250.0)),
        outside=(Range(0.0, 0.08), Range(250.0, 320.0)),
    )
    inputs = ("strain", "temp")
    target = "stress"
    program = '''
def equation(strain: np.ndarray, temp: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the stress in the rod for each observation."""
    return params[0] * strain + params[1] * temp + params[2]
'''
    objective = f"""
Find the law of stress in a rod of an aluminium alloy (6061-T6) that is pulled slowly: write `equation`, which gives the stress from \
strain and temperature through the elastic and the plastic regime.

Arguments: `strain` (array of shape (n,), elongation / length, fitted from 0 to 0.06), `temp` (shape (n,), degrees Celsius, 20 to 250; \
judged up to strain 0.08 and 320 degrees too), `params` (shape (10,), the constants).
Return an array of shape (n,): the stress in MPa for each row. At small strain the rod is elastic (stress grows in proportion, up to \
some 300 MPa at a strain of about 0.005); beyond the yield point it hardens slowly; heat softens it, and the alloy melts at 652 degrees. \
Scale numbers so that good constants are of order 1, for example 1e5 * params[0] * strain.
{HOW}"""


build = loader(StressStrain, ScienceOptions, task=EquationTask)
"""Build the task."""
