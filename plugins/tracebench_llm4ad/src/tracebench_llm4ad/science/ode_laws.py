"""Sixteen one-dimensional laws of motion with constants and initial states, numbered as in ODEBench.

They are the first sixteen of ODEBench (d'Ascoli et al., arXiv:2310.05573, appendix A), which took them from Strogatz, Nonlinear Dynamics
and Chaos; the page is given with each. Initial states are drawn from `inside` for fitting and from `outside` beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracebench_llm4ad.science.dataset import Range
from tracebench_llm4ad.science.fitting import Vector


@dataclass(frozen=True, slots=True)
class Motion:
    """dx/dt = function(x, *constants)."""

    title: str
    state: str
    function: Callable[..., Vector]
    constants: tuple[float, ...]
    inside: Range
    outside: Range


MOTIONS: tuple[Motion, ...] = (
    Motion(
        "a capacitor that is charged through a resistor (p. 20)",
        "charge",
        lambda x, a, b, c: (a - x / b) / c,
        (0.7, 1.2, 2.31),
        Range(2.0, 10.0),
        Range(10.0, 13.0),
    ),
    Motion(
        "a population with unlimited food (p. 22)",
        "population",
        lambda x, a: a * x,
        (0.23,),
        Range(0.5, 5.0),
        Range(5.0, 7.0),
    ),
    Motion(
        "a population with a carrying capacity (p. 22)",
        "population",
        lambda x, a, b: a * x * (1 - x / b),
        (0.79, 74.3),
        Range(4.0, 30.0),
        Range(80.0, 110.0),
    ),
    Motion(
        "a capacitor that is charged through a non-linear resistor (p. 38)",
        "charge",
        lambda x, a, b: 1 / (1 + np.exp(a - x / b)) - 0.5,
        (0.5, 0.96),
        Range(0.02, 0.9),
        Range(0.9, 1.2),
    ),
    Motion(
        "the speed of a body that falls through air (p. 38)",
        "speed in m/s",
        lambda x, a, b: a - b * x**2,
        (9.81, 0.0021175),
        Range(0.5, 73.0),
        Range(73.0, 95.0),
    ),
    Motion(
        "autocatalysis with one plentiful chemical (p. 39)",
        "concentration",
        lambda x, a, b: a * x - b * x**2,
        (2.1, 0.5),
        Range(0.1, 2.5),
        Range(5.0, 8.0),
    ),
    Motion(
        "the growth of a tumour (p. 39)",
        "size, in proportion to the number of cells",
        lambda x, a, b: a * x * np.log(b * x),
        (0.032, 2.29),
        Range(1.5, 9.5),
        Range(9.5, 13.0),
    ),
    Motion(
        "a population that needs a minimum size and has a carrying capacity (p. 39)",
        "population",
        lambda x, a, b, c: a * x * (1 - x / b) * (x / c - 1),
        (0.14, 130.0, 4.4),
        Range(1.5, 7.0),
        Range(7.0, 9.0),
    ),
    Motion(
        "the decline of a language, with constant rates of switching (p. 40)",
        "share of speakers, 0 to 1",
        lambda x, a, b: (1 - x) * a - x * b,
        (0.32, 0.28),
        Range(0.1, 0.7),
        Range(0.7, 0.95),
    ),
    Motion(
        "the decline of a language, with switching by status and numbers (p. 40)",
        "share of speakers, 0 to 1",
        lambda x, a, b: (1 - x) * a * np.abs(x) ** b - x * (1 - a) * np.abs(1 - x) ** b,
        (0.2, 1.2),
        Range(0.3, 0.9),
        Range(0.9, 0.98),
    ),
    Motion(
        "critical slowing down (p. 41)",
        "order parameter",
        lambda x: -(x**3),
        (),
        Range(0.8, 2.5),
        Range(2.5, 3.2),
    ),
    Motion(
        "photons in a laser (p. 55)",
        "number of photons, in thousands",
        lambda x, a, b: a * x - b * x**2,
        (1.8, 0.1107),
        Range(1.0, 12.0),
        Range(18.0, 24.0),
    ),
    Motion(
        "a bead on a rotating hoop in thick oil (p. 63)",
        "angle in rad",
        lambda x, a, b: a * np.sin(x) * (b * np.cos(x) - 1),
        (0.0981, 9.7),
        Range(0.5, 2.8),
        Range(-2.8, -0.5),
    ),
    Motion(
        "an outbreak of budworms under predation (p. 75)",
        "population",
        lambda x, a, b, c, d: a * x * (1 - x / b) - d * x**2 / (c**2 + x**2),
        (0.78, 81.0, 21.2, 0.9),
        Range(2.5, 40.0),
        Range(90.0, 120.0),
    ),
    Motion(
        "an outbreak of budworms under predation, without dimensions (p. 76)",
        "population",
        lambda x, a, b: a * x * (1 - x / b) - x**2 / (1 + x**2),
        (0.4, 95.0),
        Range(3.0, 50.0),
        Range(100.0, 130.0),
    ),
    Motion(
        "an order parameter near a phase transition (p. 87)",
        "order parameter",
        lambda x, a, b, c: a * x - b * x**3 - c * x**5,
        (0.1, -0.04, 0.001),
        Range(0.9, 5.0),
        Range(-6.0, -5.0),
    ),
)
