"""What counts as no spread: numbers that differ by the rounding of arithmetic alone, and tell of no measurement.

0.7 - 0.2 and 0.8 - 0.3 differ in their last digit, although both are a half. The size that matters is that of the scores *before* they
were subtracted: a difference near 0 carries the rounding of the scores it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROUNDING = 1e-9
"""Share of the scores' size below which a difference is rounding; what shares, sums and divisions of doubles leave is below 1e-12."""


def size_of(values: Iterable[float]) -> float:
    """Return the size of the numbers that are subtracted from one another: the largest, without its sign; 0 of none."""
    return max(map(abs, values), default=0.0)


def is_rounding(difference: float, *, size: float) -> bool:
    """Tell whether a difference of numbers of this size is no more than rounding leaves."""
    return abs(difference) <= rounding_of(size)


def rounding_of(size: float) -> float:
    """Return the largest difference of numbers of this size that is rounding."""
    return ROUNDING * size


def settled(values: Sequence[float], *, size: float) -> tuple[float, ...]:
    """Return the values with those made one that only rounding holds apart, and those that only rounding holds off 0 made 0.

    So equal differences are equal, and whoever looks for a spread may compare with `==`. Values that stand alone stay as they are.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [*values]
    start = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and is_rounding(values[order[end]] - values[order[end - 1]], size=size):
            continue
        alike = order[start:end]
        low, high = values[alike[0]], values[alike[-1]]
        middle = low + (high - low) / 2
        for i in alike:
            found[i] = 0.0 if is_rounding(middle, size=size) else middle
        start = end
    return tuple(found)
