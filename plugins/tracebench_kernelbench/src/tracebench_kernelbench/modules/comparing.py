"""Compares the outputs of a call with the right ones, so strictly that half precision does not pass for single.

How strictly depends on the problem. What is allowed at first is 1e-4 of a number and of what the outputs are usually like, which is
KernelBench's share; but where many positive numbers are averaged, half precision keeps that. So it is tried, on the reference: what do its
outputs differ by when inputs, weights or outputs are rounded to half precision? Where that is less than four times what is allowed, less
is allowed, down to a thirtieth. (Weights that are worth less than could be told are left out.) Whatever is honestly computed in single
precision, in any order, is nearer by far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]
LEAST_ATOL = 1e-6
"""What sums of numbers near 1 may differ by for their order alone, however small the result."""
_LAST_BITS = 64
"""How many times what the last bits of inputs are worth sums may differ by for their order."""
_MARGIN = 4
"""How many times what is allowed half precision must miss it by: a kernel need not round everything that was rounded here."""
_HONEST = 4
"""How many times what the last bits of inputs are worth is allowed in any case."""
_LOOSEST = 8
"""Where that is more, a last bit decides something, and says nothing of rounding."""
_STRICTEST = 0.03
"""What a tolerance may at most be made less by: positive numbers that half precision fails by that, summed one after the other, stay within
a quarter of what is allowed."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far outputs may lie from the right ones: `rtol` of each, and `atol` beside that."""

    rtol: float
    atol: float
    by_scale: bool = False
    """Whether `atol` is meant for outputs of size 1 or more, and is less for smaller ones."""
    least: float = LEAST_ATOL
    """What `atol` does not become less than by scale."""

    def times(self, factor: float) -> Tolerance:
        """Return a multiple."""
        return replace(self, rtol=factor * self.rtol, atol=factor * self.atol, least=factor * self.least)

    def around(self, want: NDArray[Any]) -> NDArray[np.float64]:
        """Return how far each number may lie from the right one."""
        allowed: NDArray[np.float64] = (self._scaled(want) if self.by_scale else self.atol) + self.rtol * np.abs(want)
        return allowed

    def _scaled(self, want: NDArray[Any]) -> float:
        finite = np.abs(want[np.isfinite(want)])
        size = float(np.sqrt(np.mean(finite * finite))) if finite.size else 1.0
        return max(min(1.0, size) * self.atol, min(self.least, self.atol))


def differs(got: Arrays, want: Arrays, tolerance: Tolerance) -> str | None:
    """Return what is wrong with the outputs of a call: their number, a shape, a type, or the first value; None when nothing is.

    A value that is not finite is right only where the right one is the same: no distance to it says anything.
    """
    if len(got) != len(want):
        return f"it returns {len(got)} arrays, and should return {len(want)}"
    for place, (one, other) in enumerate(zip(got, want, strict=True)):
        name = "the output" if len(want) == 1 else f"output {place + 1}"
        if one.shape != other.shape:
            return f"{name} has the shape {one.shape}, and should have {other.shape}"
        if one.dtype != other.dtype:
            return f"{name} is {one.dtype}, and should be {other.dtype}"
        wrong = ~(_distances(one, other, tolerance) <= 1)
        if wrong.any():
            first = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.ndim else ()
            where = ", ".join(str(int(index)) for index in first)
            values = f"[{where}] = {one[first]:.9g}, expected {other[first]:.9g}"
            return f"{int(wrong.sum())} of {wrong.size} values are wrong; the first is {values}"
    return None


def is_finite(outputs: Arrays) -> bool:
    """Tell whether all numbers are."""
    return all(bool(np.isfinite(array).all()) for array in outputs)


def halved(values: Sequence[Any]) -> list[Any]:
    """Return values whose numbers of single precision have the ten bits after the point of half precision, and their own range."""
    return [_half(value) if is_single(value) else value for value in values]


def jolted(values: Sequence[Any]) -> list[Any]:
    """Return values whose numbers of single precision have another last bit."""
    return [(value.view(np.uint32) ^ np.uint32(1)).view(np.float32) if is_single(value) else value for value in values]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a reference returns for inputs, for `halved` ones, for `jolted` ones, and for those of the first with halved weights."""

    right: Arrays
    of_halves: Arrays | None
    """None where no input has numbers of single precision, such as token ids."""
    of_jolted: Arrays
    of_weights: Arrays


def made_strict(tolerance: Tolerance, tries: Sequence[Tried]) -> tuple[Tolerance, bool]:
    """Return a tolerance that half precision misses, and whether it does.

    It does not where a reference's outputs differ by a small share of what is allowed at first, nor where they do so by little more than
    the last bits of inputs are worth; what an honest kernel may then lie from the reference is allowed in any case.
    """
    if tolerance.by_scale:
        jolts = [
            float(np.max(np.abs(one.astype(np.float64) - other), initial=0.0))
            for tried in tries
            for one, other in _singles(tried.of_jolted, tried.right)
        ]
        tolerance = replace(tolerance, least=min([tolerance.least, *(_LAST_BITS * jolt for jolt in jolts)]))
    others: list[tuple[Arrays, Arrays]] = [(tried.right, halved(tried.right)) for tried in tries]
    others += [(tried.right, tried.of_halves) for tried in tries if tried.of_halves is not None]
    far = min(farthest(right, other, tolerance) for right, other in others)
    weights = min(farthest(tried.right, tried.of_weights, tolerance) for tried in tries)
    told = [one for one in (far, weights) if one >= _MARGIN * _STRICTEST]
    share = min([1.0, *(one / _MARGIN for one in told)]) if far in told else 1.0
    honest = _HONEST * max(farthest(tried.right, tried.of_jolted, tolerance) for tried in tries)
    allowed = max(share, honest if honest <= _LOOSEST else 1.0)
    return tolerance.times(allowed), far >= _MARGIN / 2 * allowed


def farthest(want: Arrays, got: Arrays, tolerance: Tolerance) -> float:
    """Return how far the number of single precision that lies farthest lies from the right one, in multiples of what is allowed."""
    return max(
        (float(np.max(_distances(one, other, tolerance), initial=0.0)) for other, one in _singles(want, got)),
        default=0.0,
    )


def _singles(one: Arrays, other: Arrays) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    return [pair for pair in zip(one, other, strict=True) if is_single(pair[0])]


def _distances(got: NDArray[Any], want: NDArray[Any], tolerance: Tolerance) -> NDArray[np.float64]:
    """Return how far numbers lie from the right ones, in multiples of what is allowed; those that must be equal and are not, infinitely."""
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # signalling NaN, too
        one, other = got.astype(kind), want.astype(kind)
        far = np.abs(one - other) / tolerance.around(other)
        far = np.where(np.isfinite(one) & np.isfinite(other), far, np.inf)
        equal = (got == want) | (np.isnan(one) & np.isnan(other))
    distances: NDArray[np.float64] = np.where(equal, 0.0, far)
    return distances


def is_single(value: Any) -> bool:
    """Tell whether a value is an array of numbers in single precision."""
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def _half(value: NDArray[np.float32]) -> NDArray[np.float32]:
    bits = np.ascontiguousarray(value).view(np.uint32)
    with np.errstate(over="ignore"):
        return ((bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(
            np.float32
        )
