"""One data set: rows to fit the constants on, and rows held out, half of them beyond the fitted range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracebench_llm4ad.science.fitting import Vector


@dataclass(frozen=True, slots=True)
class Range:
    """How one input is drawn: uniformly or log-uniformly between `low` and `high`."""

    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"

    def draw(self, rng: np.random.Generator, rows: int) -> Vector:
        """Return `rows` independent values."""
        if self.scale == "log":
            return np.exp(rng.uniform(np.log(self.low), np.log(self.high), rows))
        return rng.uniform(self.low, self.high, rows)


@dataclass(frozen=True, slots=True)
class Law:
    """A law of nature with its nominal constants, and where it is observed."""

    function: Callable[..., Vector]
    """Called with one array per input and then the constants."""
    constants: tuple[float, ...]
    inside: tuple[Range, ...]
    """Where the fitted rows and half of the held-out rows lie."""
    outside: tuple[Range, ...]
    """Where the other half of the held-out rows lies."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """What an equation is fitted to and judged on. The candidate gets `fit_*` to fit, then `held_inputs` alone."""

    fit_inputs: tuple[Vector, ...]
    fit_targets: Vector
    """With noise."""
    held_inputs: tuple[Vector, ...]
    held_targets: Vector
    """Without noise."""
    inside: int
    """The first `inside` held-out targets lie in the fitted range."""


def draw_points(law: Law, rng: np.random.Generator, *, rows: int, spread: float, noise: float) -> DataSet:
    """Draw a data set of a law: rows are independent of each other.

    Each constant is its nominal value times a uniform factor between 1 - `spread` and 1 + `spread`: another specimen of the same law.
    `rows` rows are fitted and as many held out. The fitted targets get Gaussian noise of `noise` times their standard deviation.
    """
    constants = [c * rng.uniform(1 - spread, 1 + spread) for c in law.constants]
    fit = tuple(r.draw(rng, rows) for r in law.inside)
    near, far = rows - rows // 2, rows // 2
    held = tuple(
        np.concatenate([i.draw(rng, near), o.draw(rng, far)]) for i, o in zip(law.inside, law.outside, strict=True)
    )
    targets = law.function(*fit, *constants)
    return DataSet(
        fit_inputs=fit,
        fit_targets=targets + rng.normal(0.0, noise * float(np.std(targets)), rows),
        held_inputs=held,
        held_targets=law.function(*held, *constants),
        inside=near,
    )
