"""A problem: what a kernel is given, what it must compute, and the plain C that it starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["f", "i", "p"]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UNIT = np.float32(2.0**-24)


@dataclass(frozen=True, slots=True)
class Array:
    """One argument of a kernel: 32-bit floats in [low, high), integers below `limit`, or offsets that rise by less than `limit`."""

    name: str
    shape: tuple[int, ...]
    kind: Kind = "f"
    low: float = -1.0
    high: float = 1.0
    limit: int = 0

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)

    @property
    def order(self) -> str:
        """Say it as the driver reads it."""
        values = f":{self.low!r}:{self.high!r}" if self.kind == "f" else f":{self.limit}"
        return f"{self.kind}:{self.count}{values}"

    @property
    def dtype(self) -> str:
        """The type of its numbers in NumPy."""
        return "float32" if self.kind == "f" else "int32"

    @property
    def c_type(self) -> str:
        """The type of its numbers in C."""
        return "float" if self.kind == "f" else "int"


@dataclass(frozen=True, slots=True)
class Problem:
    """One kernel to write. `reference` computes the truth in double precision; times are compared with those of `source`, plain C."""

    name: str
    title: str
    inputs: tuple[Array, ...]
    output: Array
    reference: Callable[..., NDArray[Any]]
    source: str
    flops: float
    """Operations that the kernel cannot do without, roughly."""
    rtol: float = 5e-5
    """How far an output may lie from the right one, as a share of it. With `atol` so little that inputs or outputs that are rounded to half
    precision miss it by a factor of four, and so much that the plain kernel stays within a quarter of it."""
    atol: float = 5e-5
    """How far it may lie from it beside that: about as large a share of what outputs are usually like."""

    @property
    def signature(self) -> str:
        """The function that a candidate defines."""
        given = [f"const {array.c_type}* {array.name}" for array in self.inputs]
        return f"void kernel({', '.join([*given, f'{self.output.c_type}* {self.output.name}'])})"

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arguments in order, the output last."""
        return (*self.inputs, self.output)

    @property
    def bytes(self) -> int:
        """What a kernel reads and writes at least."""
        return 4 * sum(array.count for array in self.arrays)

    def draw(self, seed: int) -> list[NDArray[Any]]:
        """Return the inputs of a seed, the same as the driver draws."""
        return [_fill(array, _mix(seed, np.uint64(place))) for place, array in enumerate(self.inputs)]

    def expected(self, seed: int) -> NDArray[Any]:
        """Return the right output for the inputs of a seed, flat, in double precision or as integers."""
        inputs = [x.astype(np.float64) if x.dtype == np.float32 else x for x in self.draw(seed)]
        return np.asarray(self.reference(*inputs)).reshape(-1)

    def is_degenerate(self) -> bool:
        """Say whether two unlike inputs give the same output within tolerance: a constant would pass."""
        one, other = self.expected(1), self.expected(2)
        return bool(np.all(np.abs(one - other) <= self.atol + self.rtol * np.abs(other)))


def _mix(seed: int, place: Any) -> Any:
    """Return the generator's word at a place, or words at places (SplitMix64, by counter)."""
    with np.errstate(over="ignore"):
        x = np.uint64(seed) + (place + np.uint64(1)) * _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
        return x ^ (x >> np.uint64(31))


def _fill(array: Array, seed: Any) -> NDArray[Any]:
    words = _mix(int(seed), np.arange(array.count, dtype=np.uint64))
    if array.kind == "f":
        units = (words >> np.uint64(40)).astype(np.float32) * _UNIT
        low, high = np.float32(array.low), np.float32(array.high)
        floats: NDArray[Any] = low + (high - low) * units
        return floats.reshape(array.shape)
    values: NDArray[Any] = (((words >> np.uint64(32)) * np.uint64(array.limit)) >> np.uint64(32)).astype(np.int32)
    if array.kind == "p":
        values[0] = 0
        values = np.cumsum(values, dtype=np.int32)
    return values.reshape(array.shape)
