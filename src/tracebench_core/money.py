"""Amounts of USD without binary fractions: kept as decimals, written as the float that is nearest.

A float of up to 15 digits gives the decimal that it was written from, so sums of what was read back do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, localcontext

DIGITS = 60
"""Of sums: of any amounts that occur they are exact."""


def exact(amount: float | Decimal) -> Decimal:
    """Return an amount as the decimal that it was written from."""
    return amount if isinstance(amount, Decimal) else Decimal(repr(amount))


def total(amounts: Iterable[float | Decimal]) -> float:
    """Return the sum of amounts, which does not depend on their order."""
    with localcontext(prec=DIGITS):
        return float(sum(map(exact, amounts), Decimal(0)))


def less(amount: float, part: float) -> float:
    """Return the first amount without the second."""
    return total([amount, -part])
