"""Every law of the law-finding tasks against its textbook form, worked out by hand at one place."""

from __future__ import annotations

from math import exp, log, pi, sin, sqrt
from typing import Any

import numpy as np
import pytest

from tracebench_llm4ad.science.feynman_laws import FORMULAS, FULL_TURN, LIGHT, POSITIVE, SLOW, STRETCH
from tracebench_llm4ad.science.ode_laws import MOTIONS

FASTER = 1 / sqrt(1 - 0.25)
"""Lorentz's factor at half the speed of light."""
HALF = LIGHT / 2
VALUES: dict[str, tuple[tuple[float, ...], float]] = {
    "I.6.20": ((3, 2), exp(-9 / 8) / (2 * sqrt(2 * pi))),
    "I.8.14": ((4, 1, 6, 2), 5),
    "I.9.18": ((2, 3, 1, 2, 4), 6.674 * 6 / 21),
    "I.10.7": ((3, HALF), 3 * FASTER),
    "I.11.19": ((2, 3, 5, 7, 11, 13), 6 + 35 + 143),
    "I.12.2": ((2, -3, 4), -8.988 * 6 / 16),
    "I.12.11": ((2, 3, 5, 7, pi / 6), 2 * (3 + 17.5)),
    "I.13.4": ((2, 3, 4, 5), 50),
    "I.13.12": ((2, 3, 4, 5), 6.674 * 6 / 20),
    "I.15.3x": ((5, HALF, 2), (5 - LIGHT) * FASTER),
    "I.16.6": ((HALF, HALF), LIGHT / 1.25),
    "I.18.4": ((2, 3, 5, 7), 41 / 7),
    "I.24.6": ((2, 3, 5, 7), 0.25 * 2 * 34 * 49),
    "I.27.6": ((2, 1.5, 4), 1 / (0.5 + 0.375)),
    "I.29.16": ((3, 4, pi, pi / 2), 5),
    "I.34.14": ((HALF, 3), 1.5 * FASTER * 3),
    "I.37.4": ((4, 9, pi / 3), 13 + 6),
    "I.40.1": ((2, 3, 0.5, 4), 2 * exp(-0.71 * 3 * 0.5 / 4)),
    "I.41.16": ((2, 3), 1.2 * 8 / (exp(0.76 * 2 / 3) - 1)),
    "I.44.4": ((2, 3, 5, 4), 1.381 * 6 * log(5 / 4)),
    "I.47.23": ((1.5, 3, 2), 1.5),
    "I.50.26": ((3, 2, pi / 6, 0.5), 3 * (0.5 + 0.125)),
    "II.6.15b": ((3, pi / 4, 2), 2.697 * 3 * 0.5 / 8),
    "II.11.27": ((0.5, 0.6, 2), 0.885 * 0.3 / 0.9 * 2),
    "II.24.17": ((2 * LIGHT, pi), sqrt(3)),
    "II.35.18": ((2, 3, 1, 4), 2 / (exp(0.672 * 3 / 4) + exp(-0.672 * 3 / 4))),
    "III.4.33": ((2, 3), 1.055 * 2 / (exp(0.764 * 2 / 3) - 1)),
    "III.10.19": ((2, 2, 3, 6), 14),
    "III.14.14": ((2, 0.5, 1.5, 3), 2 * (exp(1.16 * 0.75 / 3) - 1)),
    "III.17.37": ((2, 3, pi / 3), 5),
}
"""By formula: quantities, and what it gives for them with its own constants."""
SPEEDS: tuple[tuple[float, float], ...] = (
    (3, (0.7 - 3 / 1.2) / 2.31),
    (3, 0.69),
    (37.15, 0.79 * 37.15 / 2),
    (0.48, 0),
    (10, 9.81 - 0.21175),
    (2, 4.2 - 2),
    (2, 0.064 * log(4.58)),
    (8.8, 0.14 * 8.8 * (1 - 8.8 / 130)),
    (0.5, 0.16 - 0.14),
    (0.5, 0.5 * 0.2 * 0.5**1.2 - 0.5 * 0.8 * 0.5**1.2),
    (2, -8),
    (3, 5.4 - 0.9963),
    (pi / 3, 0.0981 * sin(pi / 3) * (9.7 / 2 - 1)),
    (21.2, 0.78 * 21.2 * (1 - 21.2 / 81) - 0.45),
    (2, 0.8 * (1 - 2 / 95) - 0.8),
    (2, 0.2 + 0.32 - 0.032),
)
"""By number, from 1: a state, and how fast it changes there."""


def test_every_formula_and_motion_is_worked_out() -> None:
    assert VALUES.keys() == FORMULAS.keys()
    assert len(SPEEDS) == len(MOTIONS)


@pytest.mark.parametrize("law", VALUES)
def test_a_formula_is_the_one_of_the_lectures(law: str) -> None:
    (quantities, value), formula = VALUES[law], FORMULAS[law]
    arrays: list[Any] = [np.array([quantity]) for quantity in quantities]
    assert len(quantities) == len(formula.quantities) == len(formula.ranges)
    assert formula.function(*arrays, *formula.constants) == pytest.approx([value], rel=1e-12)
    told = formula.law()
    constants = formula.constants or (1.0,)
    assert told.constants == constants
    assert told.function(*arrays, *constants) == pytest.approx([value], rel=1e-12)
    if not formula.constants:
        assert told.function(*arrays, 2.0) == pytest.approx([2 * value], rel=1e-12)


@pytest.mark.parametrize("law", FORMULAS)
def test_rows_beyond_reach_as_much_further_as_is_said_and_no_speed_is_that_of_light(law: str) -> None:
    formula = FORMULAS[law]
    for inside, beyond, quantity in zip(formula.ranges, formula.beyond(), formula.quantities, strict=True):
        assert (beyond.low, beyond.high) == (inside.low, inside.high * (1 if inside is FULL_TURN else STRETCH))
        assert inside.low < inside.high
        if "speed" in quantity and LIGHT in formula.constants:
            assert inside is SLOW
            assert beyond.high < 0.75 * LIGHT
    assert (FULL_TURN.low, FULL_TURN.high, POSITIVE.low) == (0, 6.2832, 0.3)


@pytest.mark.parametrize("number", range(1, len(SPEEDS) + 1))
def test_a_motion_is_the_one_of_the_book(number: int) -> None:
    (state, speed), motion = SPEEDS[number - 1], MOTIONS[number - 1]
    assert motion.function(np.array([state]), *motion.constants) == pytest.approx([speed], rel=1e-12, abs=1e-15)
    assert not (motion.inside.low < motion.outside.low < motion.inside.high), "what lies beyond is not what was fitted"


def test_the_cosine_rule_keeps_to_real_amplitudes() -> None:
    waves = FORMULAS["I.29.16"].function
    assert waves(np.array([1.0]), np.array([1.0]), np.array([pi]), np.array([0.0])) == pytest.approx([0.0], abs=1e-7)
    assert waves(np.array([2.0]), np.array([1.0]), np.array([1.0]), np.array([1.0])) == pytest.approx([3.0])
