"""`python -m tracebench_kernelbench.cuda.torch_guest SOCKET`: a guest that runs PyTorch on a device, in the judge's memory.

What PyTorch makes, by its operators, CUDA C++ extensions, Triton or a compiler, it makes in that memory by an allocator of its own
(`arena.cpp`), so that outputs need not be copied for the judge to read them.
"""

from __future__ import annotations

import ctypes
import os
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tracebench_kernelbench.cuda.libcuda import MEMORY_LAZY_PEER, cuda, enter, opened
from tracebench_kernelbench.cuda.serving import ARENA, Row, serve


class _View:
    """Device memory as PyTorch takes it over."""

    def __init__(self, address: int, shape: Sequence[int], dtype: str) -> None:
        kind = "|b1" if dtype == "bool" else torch.empty(0, dtype=getattr(torch, dtype)).numpy().dtype.str
        self.__cuda_array_interface__ = {"shape": tuple(shape), "typestr": kind, "data": (address, False), "version": 3}


class TorchWork:
    """See `serving.Work`."""

    def __init__(self) -> None:
        self._module: Any = None
        self._kept: list[Any] = []
        self._whole: list[tuple[Any, Any]] = []

    def open(self, *, memory: bytes, go: bytes, done: bytes, size: int, inputs: int) -> None:
        """See `Work`."""
        arena = ctypes.CDLL(os.environ[ARENA])
        torch.cuda.memory.change_current_allocator(
            torch.cuda.memory.CUDAPluggableAllocator(os.environ[ARENA], "arena_take", "arena_give")
        )
        enter()
        self._begin = opened("cuIpcOpenMemHandle_v2", ctypes.c_uint64, memory, ctypes.c_uint(MEMORY_LAZY_PEER)).value
        self._size = size
        self._go = opened("cuIpcOpenEventHandle", ctypes.c_void_p, go)
        self._done = opened("cuIpcOpenEventHandle", ctypes.c_void_p, done)
        arena.arena_begin(ctypes.c_void_p(self._begin + inputs), ctypes.c_size_t(size - inputs))
        torch.set_grad_enabled(False)

    def load(self, *, code: str, source: str, name: str, seed: int) -> None:
        """See `Work`."""
        self._problem = _module("problem", code)
        made = _module("candidate", source) if source else self._problem
        torch.manual_seed(seed)
        init = self._problem.get_init_inputs()
        torch.manual_seed(seed)
        self._module = getattr(made, name)(*init).cuda()
        torch.cuda.synchronize()

    def draw(self, seed: int) -> tuple[Sequence[Row], Sequence[Any]]:
        """See `Work`."""
        torch.manual_seed(seed)
        drawn = self._problem.get_inputs()
        self._kept = [value.cuda().contiguous() for value in drawn if isinstance(value, torch.Tensor)]
        torch.cuda.synchronize()
        plain = [None if isinstance(value, torch.Tensor) else [value] for value in drawn]
        return [self._row(tensor) for tensor in self._kept], plain

    def call(self, rows: Sequence[Row], plain: Sequence[Any]) -> Sequence[Row]:
        """See `Work`."""
        views = iter(
            [torch.as_tensor(_View(self._begin + at, shape, dtype), device="cuda") for at, dtype, shape in rows]
        )
        inputs = [next(views) if value is None else value[0] for value in plain]
        self._kept = []
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        cuda("cuStreamWaitEvent", stream, self._go, ctypes.c_uint(0))
        outputs = [self._reached(tensor) for tensor in _flat(self._module(*inputs))]
        cuda("cuEventRecord", self._done, stream)
        self._kept = outputs
        return [self._row(tensor) for tensor in outputs]

    def halve(self, *, half: bool) -> None:
        """See `Work`."""
        for weights, whole in self._whole:
            weights.copy_(whole)
        held = [*self._module.parameters(), *self._module.buffers()] if half else []
        self._whole = [(weights, weights.clone()) for weights in held if weights.dtype == torch.float32]
        for weights, whole in self._whole:
            bits = whole.contiguous().view(torch.int32)
            weights.copy_(((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32))
        torch.cuda.synchronize()

    def _reached(self, tensor: Any) -> Any:
        tensor = tensor.contiguous()
        inside = 0 <= tensor.data_ptr() - self._begin <= self._size - tensor.numel() * tensor.element_size()
        return tensor if inside or not tensor.numel() else tensor.clone()

    def _row(self, tensor: Any) -> Row:
        at = tensor.data_ptr() - self._begin if tensor.numel() else 0
        return at, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)


def _module(name: str, code: str) -> Any:
    """Run a source as a module of its own file: Triton and compilers read the lines of what they compile."""
    path = Path(f"{name}.py").absolute()
    path.write_text(code, encoding="utf-8")
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(code, path, "exec"), module.__dict__)  # noqa: S102 - what this process is for
    return module


def _flat(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for part in value for tensor in _flat(part)]
    raise TypeError(f"the output is a {type(value).__name__}, and no tensor")


if __name__ == "__main__":
    serve(int(sys.argv[1]), TorchWork())
