"""Thirty formulas of the Feynman Lectures on Physics, under the numbers that the data sets of AI Feynman and SRSD gave them.

The list is that of Udrescu and Tegmark (arXiv:1905.11481) as revised by Matsubara et al. (SRSD, arXiv:2206.10540). The ranges are ours:
every quantity comes in a unit in which its values are near 1 (speeds in 100,000 km/s, for example, so that c = 2.998), and a constant of
nature is one of the law's constants. A formula without any is measured in a unit of its own, a constant near 1. Held-out rows beyond the
fitted range reach `STRETCH` times as far in every quantity that is not an angle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_llm4ad.science.dataset import Law, Range
from tracebench_llm4ad.science.fitting import Vector

STRETCH = 1.3
LIGHT = 2.998
FULL_TURN = Range(0.0, 6.2832)
POSITIVE = Range(0.3, 4.0)
SIGNED = Range(-4.0, 4.0)
SLOW = Range(0.1, 1.7)
"""Below the speed of light with room to spare, in 100,000 km/s."""


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula: what its quantities are, where they are drawn, and the law."""

    title: str
    target: str
    quantities: tuple[str, ...]
    ranges: tuple[Range, ...]
    function: Callable[..., Vector]
    constants: tuple[float, ...] = ()

    def law(self) -> Law:
        """Return the law that is observed."""
        if self.constants:
            return Law(self.function, self.constants, self.ranges, self.beyond())

        def measured(*arguments: Any) -> Vector:
            *quantities, unit = arguments
            value: Vector = self.function(*quantities) * unit
            return value

        return Law(measured, (1.0,), self.ranges, self.beyond())

    def beyond(self) -> tuple[Range, ...]:
        """Return the ranges of the rows beyond the fitted ones."""
        return tuple(r if r is FULL_TURN else Range(r.low, r.high * STRETCH) for r in self.ranges)


def _gauss(theta: Vector, sigma: Vector) -> Vector:
    density: Vector = np.exp(-((theta / sigma) ** 2) / 2) / (np.sqrt(2 * np.pi) * sigma)
    return density


def _planck(omega: Vector, temperature: Vector, a: float, b: float) -> Vector:
    return a * omega**3 / np.expm1(b * omega / temperature)


def _gamma(speed: Vector, light: float) -> Vector:
    return 1 / np.sqrt(1 - (speed / light) ** 2)


FORMULAS: dict[str, Formula] = {
    "I.6.20": Formula(
        "the density of a normal distribution around 0",
        "density",
        ("deviation", "width"),
        (SIGNED, Range(0.8, 3.0)),
        _gauss,
    ),
    "I.8.14": Formula(
        "the distance of two points in a plane",
        "distance",
        ("x of the second", "x of the first", "y of the second", "y of the first"),
        (SIGNED, SIGNED, SIGNED, SIGNED),
        lambda x2, x1, y2, y1: np.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2),
    ),
    "I.9.18": Formula(
        "the force of gravity between two bodies",
        "force",
        ("mass", "other mass", "difference in x", "difference in y", "difference in z"),
        (POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE),
        lambda m, n, x, y, z, g: g * m * n / (x**2 + y**2 + z**2),
        (6.674,),
    ),
    "I.10.7": Formula(
        "the mass of a moving body",
        "mass",
        ("mass at rest", "speed"),
        (POSITIVE, SLOW),
        lambda m, v, c: m * _gamma(v, c),
        (LIGHT,),
    ),
    "I.11.19": Formula(
        "the scalar product of two vectors in space",
        "product",
        ("x1", "y1", "x2", "y2", "x3", "y3"),
        (SIGNED, SIGNED, SIGNED, SIGNED, SIGNED, SIGNED),
        lambda a, b, c, d, e, f: a * b + c * d + e * f,
    ),
    "I.12.2": Formula(
        "the force between two charges",
        "force",
        ("charge", "other charge", "distance"),
        (SIGNED, SIGNED, Range(0.5, 4.0)),
        lambda q, p, r, k: k * q * p / r**2,
        (8.988,),
    ),
    "I.12.11": Formula(
        "the force on a charge in an electric and a magnetic field",
        "force",
        ("charge", "electric field", "magnetic field", "speed", "angle"),
        (SIGNED, POSITIVE, POSITIVE, POSITIVE, FULL_TURN),
        lambda q, e, b, v, t: q * (e + b * v * np.sin(t)),
    ),
    "I.13.4": Formula(
        "kinetic energy",
        "energy",
        ("mass", "speed in x", "speed in y", "speed in z"),
        (POSITIVE, SIGNED, SIGNED, SIGNED),
        lambda m, u, v, w: 0.5 * m * (u**2 + v**2 + w**2),
    ),
    "I.13.12": Formula(
        "the work of gravity between two distances",
        "work",
        ("mass", "other mass", "second distance", "first distance"),
        (POSITIVE, POSITIVE, POSITIVE, POSITIVE),
        lambda m, n, s, r, g: g * m * n * (1 / s - 1 / r),
        (6.674,),
    ),
    "I.15.3x": Formula(
        "a place seen from a moving frame",
        "place",
        ("place", "speed of the frame", "time"),
        (SIGNED, SLOW, POSITIVE),
        lambda x, u, t, c: (x - u * t) * _gamma(u, c),
        (LIGHT,),
    ),
    "I.16.6": Formula(
        "the sum of two speeds in relativity",
        "speed",
        ("speed", "other speed"),
        (SLOW, SLOW),
        lambda u, v, c: (u + v) / (1 + u * v / c**2),
        (LIGHT,),
    ),
    "I.18.4": Formula(
        "the centre of mass of two bodies on a line",
        "place",
        ("mass", "place", "other mass", "other place"),
        (POSITIVE, SIGNED, POSITIVE, SIGNED),
        lambda m, r, n, s: (m * r + n * s) / (m + n),
    ),
    "I.24.6": Formula(
        "the mean energy of a driven oscillator",
        "energy",
        ("mass", "frequency of the drive", "own frequency", "amplitude"),
        (POSITIVE, POSITIVE, POSITIVE, POSITIVE),
        lambda m, w, v, x: 0.25 * m * (w**2 + v**2) * x**2,
    ),
    "I.27.6": Formula(
        "the focal length of a refracting surface",
        "length",
        ("object distance", "refractive index", "image distance"),
        (POSITIVE, Range(1.0, 2.5), POSITIVE),
        lambda d, n, e: 1 / (1 / d + n / e),
    ),
    "I.29.16": Formula(
        "the amplitude of the sum of two waves",
        "amplitude",
        ("amplitude", "other amplitude", "phase", "other phase"),
        (POSITIVE, POSITIVE, FULL_TURN, FULL_TURN),
        lambda x, y, s, t: np.sqrt(np.maximum(x**2 + y**2 + 2 * x * y * np.cos(s - t), 0.0)),
    ),
    "I.34.14": Formula(
        "the frequency of an approaching source of light",
        "frequency",
        ("speed", "frequency at rest"),
        (SLOW, POSITIVE),
        lambda v, w, c: (1 + v / c) * _gamma(v, c) * w,
        (LIGHT,),
    ),
    "I.37.4": Formula(
        "the intensity of two interfering waves",
        "intensity",
        ("intensity", "other intensity", "difference of phase"),
        (POSITIVE, POSITIVE, FULL_TURN),
        lambda i, j, d: i + j + 2 * np.sqrt(i * j) * np.cos(d),
    ),
    "I.40.1": Formula(
        "the density of an atmosphere at a height",
        "density",
        ("density at the ground", "mass of a molecule", "height", "temperature"),
        (POSITIVE, POSITIVE, Range(0.1, 2.0), Range(1.0, 4.0)),
        lambda n, m, x, t, g: n * np.exp(-g * m * x / t),
        (0.71,),
    ),
    "I.41.16": Formula(
        "the spectrum of a black body",
        "intensity",
        ("frequency", "temperature"),
        (Range(0.3, 8.0), POSITIVE),
        _planck,
        (1.2, 0.76),
    ),
    "I.44.4": Formula(
        "the work of a gas that expands at constant temperature",
        "work",
        ("amount", "temperature", "volume after", "volume before"),
        (POSITIVE, POSITIVE, POSITIVE, POSITIVE),
        lambda n, t, v, u, k: k * n * t * np.log(v / u),
        (1.381,),
    ),
    "I.47.23": Formula(
        "the speed of sound in a gas",
        "speed",
        ("ratio of specific heats", "pressure", "density"),
        (Range(1.0, 2.0), POSITIVE, POSITIVE),
        lambda g, p, r: np.sqrt(g * p / r),
    ),
    "I.50.26": Formula(
        "the response of a slightly non-linear oscillator",
        "displacement",
        ("amplitude", "frequency", "time", "non-linearity"),
        (POSITIVE, Range(0.5, 2.0), Range(0.0, 3.0), Range(-0.8, 0.8)),
        lambda x, w, t, a: x * (np.cos(w * t) + a * np.cos(w * t) ** 2),
    ),
    "II.6.15b": Formula(
        "the field of a dipole across its axis",
        "field",
        ("moment", "angle", "distance"),
        (POSITIVE, FULL_TURN, Range(0.6, 3.0)),
        lambda p, t, r, k: k * p * np.cos(t) * np.sin(t) / r**3,
        (2.697,),
    ),
    "II.11.27": Formula(
        "the polarisation of a dense material",
        "polarisation",
        ("density", "polarisability", "field"),
        (Range(0.2, 1.2), Range(0.2, 1.2), POSITIVE),
        lambda n, a, e, k: k * n * a / (1 - n * a / 3) * e,
        (0.885,),
    ),
    "II.24.17": Formula(
        "the wave number in a wave guide",
        "wave number",
        ("frequency", "width"),
        (Range(6.0, 12.0), Range(2.5, 5.0)),
        lambda w, d, c: np.sqrt(np.maximum((w / c) ** 2 - (np.pi / d) ** 2, 0.0)),
        (LIGHT,),
    ),
    "II.35.18": Formula(
        "the number of spins along a magnetic field",
        "number",
        ("number of all", "moment", "field", "temperature"),
        (POSITIVE, POSITIVE, Range(0.3, 3.0), Range(1.0, 4.0)),
        lambda n, m, b, t, k: n / (np.exp(k * m * b / t) + np.exp(-k * m * b / t)),
        (0.672,),
    ),
    "III.4.33": Formula(
        "the mean energy of a quantum oscillator",
        "energy",
        ("frequency", "temperature"),
        (Range(0.3, 8.0), POSITIVE),
        lambda w, t, h, k: h * w / np.expm1(k * w / t),
        (1.055, 0.764),
    ),
    "III.10.19": Formula(
        "the energy of a spin in a magnetic field",
        "energy",
        ("moment", "field in x", "field in y", "field in z"),
        (POSITIVE, SIGNED, SIGNED, SIGNED),
        lambda m, x, y, z: m * np.sqrt(x**2 + y**2 + z**2),
    ),
    "III.14.14": Formula(
        "the current through a diode",
        "current",
        ("saturation current", "charge", "voltage", "temperature"),
        (POSITIVE, Range(0.5, 1.5), Range(-2.0, 2.0), Range(1.0, 4.0)),
        lambda i, q, v, t, k: i * np.expm1(k * q * v / t),
        (1.16,),
    ),
    "III.17.37": Formula(
        "the angular distribution of scattered particles",
        "intensity",
        ("intensity", "asymmetry", "angle"),
        (POSITIVE, SIGNED, FULL_TURN),
        lambda b, a, t: b * (1 + a * np.cos(t)),
    ),
}
