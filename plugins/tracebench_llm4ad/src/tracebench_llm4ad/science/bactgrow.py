"""Growth of E. coli: a rate from population, substrate, temperature and acidity."""

from __future__ import annotations

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.science.dataset import Law, Range
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import HOW, EquationEvaluator
from tracebench_llm4ad.science.fitting import Vector
from tracebench_llm4ad.science.options import ScienceOptions

PH_RANGE = (4.0, 9.0)
"""No growth at and beyond these."""
PH_BEST = 7.0
T_ONSET, T_DECAY = 15.0, 40.0
"""Degrees Celsius: where growth sets in, and where heat has begun to stop it."""


def growth(  # noqa: PLR0917 - a formula
    b: Vector, s: Vector, temp: Vector, ph: Vector, rate: float, half: float, slope: float, decay: float
) -> Vector:
    """Return rate b s / (half + s) tanh(slope (temp - 15)) / (1 + decay (temp - 40)^4) exp(-|pH - 7|) sin^2(pi (pH - 4) / 5).

    The form is the one of LLM-SR (arXiv:2404.18400, section 4): Monod's law for the substrate, times factors for temperature and pH that
    differ on purpose from the textbook's. The constants are ours.
    """
    low, high = PH_RANGE
    warmth = np.tanh(slope * (temp - T_ONSET)) / (1 + decay * (temp - T_DECAY) ** 4)
    acidity = np.exp(-np.abs(ph - PH_BEST)) * np.sin((ph - low) * np.pi / (high - low)) ** 2
    rate_of_growth: Vector = rate * b * s / (half + s) * warmth * acidity
    return rate_of_growth


class BacterialGrowth(EquationEvaluator):
    """The ranges straddle the optimum of temperature and pH; the held-out ones beyond are hotter, richer and more acid."""

    name = "science_discovery/bactgrow"
    law = Law(
        function=growth,
        constants=(2.0, 1.5, 0.08, 5e-5),
        inside=(Range(0.1, 2.0), Range(0.1, 8.0), Range(18.0, 42.0), Range(5.0, 8.5)),
        outside=(Range(0.1, 2.5), Range(8.0, 12.0), Range(42.0, 46.0), Range(4.5, 8.5)),
    )
    inputs = ("b", "s", "temp", "pH")
    target = "growth rate"
    program = '''
def equation(b: np.ndarray, s: np.ndarray, temp: np.ndarray, pH: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Return the growth rate of the population for each observation."""
    return params[0] * b + params[1] * s + params[2] * temp + params[3] * pH + params[4]
'''
    objective = f"""
Find the law of growth of a culture of E. coli: write `equation`, which gives the rate at which the population grows from its density \
and its surroundings.

Arguments, arrays of shape (n,): `b` (population density, g/l, fitted from 0.1 to 2), `s` (substrate concentration, g/l, 0.1 to 8), \
`temp` (temperature in degrees Celsius, 18 to 42), `pH` (acidity, 5 to 8.5); judged up to b = 2.5, s = 12, temp = 46 and down to pH = \
4.5 too; and `params` (shape (10,), the constants).
Return an array of shape (n,): the growth rate db/dt in g/l/h for each row. The rate is a product of factors, one for each influence: \
saturation in the substrate, an onset and a decline in temperature, an optimum in pH. The factors need not be those of the textbooks. \
Scale numbers so that good constants are of order 1, for example 1e-4 * params[0] * (temp - 40)**4.
{HOW}"""


build = loader(BacterialGrowth, ScienceOptions, task=EquationTask)
"""Build the task."""
