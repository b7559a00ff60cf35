"""Circles in the unit square, judged in rationals: what radii sum to, at which tolerance they hold, and what is left at none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isqrt

Circle = tuple[Fraction, Fraction, Fraction]
"""x, y and radius."""
_FINE = 10**40
"""Steps of the square root that bounds how much every radius has to give way."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What rationals say of a packing. No root is taken to decide whether it holds."""

    circles: int
    total: Fraction
    """Sum of the radii as they are."""
    overlap: Fraction
    """By how much the worst pair overlaps, rounded up by 1e-40 at most; 0 where none does."""
    outside: Fraction
    """By how much the worst circle leaves the square; 0 where none does."""
    is_whole: bool
    """Every radius is above 0."""

    def holds(self, tolerance: Fraction) -> bool:
        """Tell whether no overlap and no distance outside is more than a tolerance."""
        return self.is_whole and self.overlap <= tolerance and self.outside <= tolerance

    @property
    def strict(self) -> Fraction:
        """The sum at tolerance 0 of the same centres, every radius smaller by what the worst violation asks: a bound that is certain."""
        return self.total - self.circles * max(self.overlap / 2, self.outside)


def certify(circles: Iterable[Sequence[Fraction]]) -> Certificate:
    """Return what holds of circles whose centres and radii are rationals.

    Raises:
        ValueError: a circle has not three numbers.
    """
    told: list[Circle] = []
    for circle in circles:
        x, y, r = circle
        told.append((x, y, r))
    outside = max((max(r - x, r - y, x + r - 1, y + r - 1) for x, y, r in told), default=Fraction(0))
    return Certificate(
        circles=len(told),
        total=sum((r for _, _, r in told), Fraction(0)),
        overlap=max((_overlap(a, b) for a, b in combinations(told, 2)), default=Fraction(0)),
        outside=max(outside, Fraction(0)),
        is_whole=all(r > 0 for _, _, r in told),
    )


def _overlap(a: Circle, b: Circle) -> Fraction:
    square, reach = (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2, a[2] + b[2]
    if reach <= 0 or square >= reach**2:
        return Fraction(0)
    return reach - Fraction(isqrt(int(square * _FINE**2)), _FINE)
