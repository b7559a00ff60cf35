"""Checks on what a candidate returned: one typed value, or a refusal that says what came instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.evaluator import invalid

QUOTED = 80
LISTED = 20


def shown(value: Any) -> str:
    """Return a value as feedback quotes it: its kind, and its text cut to `QUOTED` characters."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return f"{text if len(text) <= QUOTED else text[: QUOTED - 3] + '...'} ({type(value).__name__})"


def whole(value: Any, *, what: str) -> int:
    """Return an integer; a float that is integral and an array of one element count, a bool does not."""
    value = _plain(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(f"The function must return {what}, an integer; it returned {shown(value)}.")
    return value


def _plain(value: Any) -> Any:
    """Return numpy's scalars and arrays of one element as built-in values; a long double as the nearest float."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.longdouble):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def chosen(value: Any, *, allowed: Sequence[int] | set[int] | range, what: str) -> int:
    """Return an integer that is one of `allowed`."""
    number = whole(value, what=what)
    if number not in allowed:
        listed = ", ".join(str(a) for a in sorted(allowed)[:LISTED])
        more = ", …" if len(allowed) > LISTED else ""
        raise invalid(f"The function must return {what}, one of {listed}{more}; it returned {number}.")
    return number


def number(value: Any, *, what: str) -> float:
    """Return a finite float."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(f"The function must return {what}, a number; it returned {shown(value)}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise invalid(f"The function must return {what}, a finite number; it returned {result}.")
    return result


def array(value: Any, *, shape: tuple[int, ...], what: str, finite: bool = True) -> npt.NDArray[np.float64]:
    """Return a float array of exactly `shape`; -inf and inf pass only where `finite` is false, NaN never."""
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raw = np.asarray(None)
    if raw.dtype.kind not in "iuf":
        raise invalid(f"The function must return {what}, numbers of shape {shape}; it returned {shown(value)}.")
    result = raw.astype(np.float64)
    if result.shape != shape:
        raise invalid(f"The function must return {what} of shape {shape}; it returned shape {result.shape}.")
    bad = np.isnan(result) if not finite else ~np.isfinite(result)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise invalid(f"The function must return {what} without NaN or infinity; entry {where} is {result[where]}.")
    return result


def pair(value: Any, *, what: str) -> tuple[Any, Any]:
    """Return the two items of a sequence of two."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004 - a pair
        raise invalid(f"The function must return {what}; it returned {shown(value)}.")
    return value[0], value[1]


def integers(value: Any, *, what: str, length: int | None = None) -> list[int]:
    """Return a list of integers; of exactly `length` where that is given."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple) or length not in {None, len(value)}:
        count = "a list of" if length is None else length
        raise invalid(f"The function must return {what}, {count} integers; it returned {shown(value)}.")
    return [whole(part, what=what) for part in value]
