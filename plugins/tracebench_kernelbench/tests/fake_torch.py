"""PyTorch's names over NumPy's arrays, as much as the judge and small modules ask for. A sandbox imports it as `torch`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np


class Kind:
    """A type of numbers, which PyTorch calls `torch.<name>`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


KINDS = {name: Kind(name) for name in ("float32", "float64", "int32", "int64", "complex64")}
globals().update(KINDS)
contiguous_format = "contiguous"
_drawn = SimpleNamespace(of=np.random.default_rng(0))


class Tensor:
    """An array, and whether its numbers stand for their conjugates."""

    def __init__(self, array: Any, *, is_conjugate: bool = False) -> None:
        self.array, self._is_conjugate = np.asarray(array), is_conjugate

    @property
    def dtype(self) -> Kind:
        return KINDS[self.array.dtype.name]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def numel(self) -> int:
        return int(self.array.size)

    def element_size(self) -> int:
        return int(self.array.itemsize)

    def is_conj(self) -> bool:
        return self._is_conjugate

    def is_neg(self) -> bool:
        return False

    def resolve_conj(self) -> Tensor:
        return Tensor(self.array.conj())

    def resolve_neg(self) -> Tensor:
        return self

    def conj(self) -> Tensor:
        return Tensor(self.array, is_conjugate=True)

    def detach(self) -> Tensor:
        return Tensor(self.array)

    def clone(self, memory_format: str = contiguous_format) -> Tensor:
        assert memory_format == contiguous_format
        return Tensor(self.array.copy(order="C"))

    def contiguous(self) -> Tensor:
        return Tensor(np.ascontiguousarray(self.array))

    def view(self, what: Any) -> Tensor:
        return Tensor(self.array.view(what.name) if isinstance(what, Kind) else self.array.reshape(what))

    def copy_(self, other: Tensor) -> Tensor:
        self.array[...] = other.array
        return self

    def numpy(self) -> Any:
        return self.array

    def t(self) -> Tensor:
        return Tensor(self.array.T)

    def __getitem__(self, at: Any) -> Tensor:
        return Tensor(self.array[at])

    def __matmul__(self, other: Tensor) -> Tensor:
        return Tensor(self.array @ other.array)

    def __invert__(self) -> Tensor:
        return Tensor(~self.array)


def _worked(name: str) -> Any:
    def work(self: Tensor, other: Any) -> Tensor:
        return Tensor(getattr(self.array, name)(other.array if isinstance(other, Tensor) else other))

    return work


for _name in ("__add__", "__radd__", "__sub__", "__mul__", "__rmul__", "__and__", "__rshift__"):
    setattr(Tensor, _name, _worked(_name))


class Module:
    """What a problem's `Model` is one of; its tensors are its weights."""

    def __call__(self, *given: Any) -> Any:
        return self.forward(*given)

    def forward(self, *given: Any) -> Any:
        raise NotImplementedError

    def parameters(self) -> list[Tensor]:
        return [value for value in vars(self).values() if isinstance(value, Tensor)]

    def buffers(self) -> list[Tensor]:
        return []


nn = SimpleNamespace(Module=Module)


def set_num_threads(count: int) -> None:
    assert count == 1


def set_grad_enabled(mode: bool) -> None:
    assert not mode


def manual_seed(seed: int) -> None:
    _drawn.of = np.random.default_rng(seed)


@contextmanager
def no_grad() -> Iterator[None]:
    yield


def from_numpy(array: Any) -> Tensor:
    return Tensor(array)


def frombuffer(memory: Any, *, dtype: Kind, count: int, offset: int) -> Tensor:
    return Tensor(np.frombuffer(memory, dtype.name, count, offset))


def empty(shape: Any, dtype: Kind = KINDS["float32"]) -> Tensor:
    return Tensor(np.empty(shape, dtype.name))


def randn(*shape: int) -> Tensor:
    return Tensor(_drawn.of.standard_normal(shape).astype(np.float32))


def rand(*shape: int) -> Tensor:
    return Tensor(_drawn.of.random(shape, np.float32))


def tanh(value: Tensor) -> Tensor:
    return Tensor(np.tanh(value.array))


def sqrt(value: Tensor) -> Tensor:
    with np.errstate(invalid="ignore"):
        return Tensor(np.sqrt(value.array))


def worked(value: Tensor, seconds: float) -> Tensor:
    """Use so much of a processor, and return the value."""

    end = time.process_time() + seconds
    while time.process_time() < end:
        math.sqrt(2.0)
    return value
