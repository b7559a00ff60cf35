"""The memory that the judge and a session's process share: where inputs and outputs lie in it, and how either side says so.

Nothing is handed over by copying: the judge writes inputs where the process reads them, and reads outputs where the process left them. A
process whose replies are not to be trusted can say that they lie anywhere; what lies there is compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from tracebench_core.contracts import NotMeasured

IDLE = 0
"""A byte; 1 asks the reference to take over and hand over as ever, and to do no work between."""
PLACE = 1
"""A byte: at which of its places the arrays of a kernel's call lie."""
PLACES = 8
"""Places of a kernel's arrays, gone through by turns. Which pages a process is given is worth a tenth to who walks down columns, and is
no work of a kernel; over several it averages out, and what is left is seen in the noise."""
SAID, TOLD, SPARE, INPUTS = 4096, 32 << 10, 64 << 10, 8 << 20
"""Where what the judge says begins, and what the process tells: four bytes with a length, and as much JSON. Where small outputs may be
copied, and where inputs begin."""
ARENA = INPUTS + (1 << 30)
"""Where the process's own heap goes on, in which its outputs lie."""
HEAP_MB = 1024
"""Of that heap where a problem needs no more."""
SIZE_MB = (ARENA >> 20) + HEAP_MB
_MOST_BYTES = 2 << 30
"""Of all outputs of a call, each element of a view counted: a copy is made of them."""
HUGE = 2 << 20
"""Bytes of a huge page."""
_PAGE = 4096
_LINE, _STEP = 64, 39
DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()  # noqa: SIM905
_Number = Annotated[int, Field(ge=0, le=1 << 48)]
_Numbers = Annotated[list[_Number], Field(max_length=32)]
_ROWS = TypeAdapter(list[tuple[_Number, str, _Numbers, _Numbers]])
"""By output: where it begins, its type, its shape, and its strides in elements; PyTorch knows no negative ones, and a negative length would
take from the sum that `_MOST_BYTES` bounds."""


class Unreadable(ValueError):  # noqa: N818 - says what an output is
    """What a process told of its outputs describes none; the message is for the candidate's author."""


def machine_mb(what: Literal["MemTotal", "MemAvailable"]) -> int:
    """Return the megabytes of this machine's memory, all or what a new process could take."""
    return int(Path("/proc/meminfo").read_text(encoding="ascii").partition(f"{what}:")[2].split()[0]) >> 10


def places(sizes: Sequence[int]) -> list[int]:
    """Return where arrays of so many bytes begin: one after the other, each on a page of its own."""
    return [INPUTS + taken for taken in accumulate([-(-size // _PAGE) * _PAGE for size in sizes], initial=0)][
        : len(sizes)
    ]


def put(shared: memoryview, at: int, value: NDArray[Any]) -> None:
    """Write an array."""
    np.frombuffer(shared, value.dtype, value.size, at)[...] = value.reshape(-1)


def take(shared: memoryview, at: int, shape: Sequence[int], dtype: Any) -> NDArray[Any]:
    """Return a copy of an array, which nobody else can write to."""
    return np.frombuffer(shared, dtype, prod(shape), at).reshape(shape).copy()


def say(shared: memoryview, values: Sequence[Any], *, turn: int = 0) -> None:
    """Write the inputs of a call, and where each array among them lies.

    Two copies of one module can differ by a quarter for where their inputs and outputs lie in a page alone. So inputs lie elsewhere in
    theirs from turn to turn, and each by another step.

    Raises:
        NotMeasured: when there is not so much room, or one is neither an array nor plain data.
    """
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    begin = places([array.nbytes + _PAGE for array in arrays])
    begin = [at + turn * (_STEP + 2 * place) % (_PAGE // _LINE) * _LINE for place, at in enumerate(begin)]
    if arrays and begin[-1] + arrays[-1].nbytes > ARENA:
        raise NotMeasured("The inputs of this problem take more than a gibibyte.", retry=False)
    free = iter(begin)
    said: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            at = next(free)
            put(shared, at, value)
            said.append([at, value.dtype.name, value.shape])
        else:
            said.append({"value": value})
    try:
        text = json.dumps(said).encode()
    except (TypeError, ValueError) as err:
        raise NotMeasured(f"An input of this problem cannot be handed over: {err}", retry=False) from err
    if len(text) > TOLD - SAID - 4:
        raise NotMeasured("The plain values among the inputs of this problem are too many.", retry=False)
    shared[SAID : SAID + 4] = len(text).to_bytes(4, "little")
    shared[SAID + 4 : SAID + 4 + len(text)] = text


def told(shared: memoryview) -> list[NDArray[Any]]:
    """Return copies of the arrays that a process says are its outputs.

    Raises:
        Unreadable: when what it says describes none.
    """
    size = int.from_bytes(shared[TOLD : TOLD + 4], "little")
    text = bytes(shared[TOLD + 4 : TOLD + 4 + min(size, SPARE - TOLD - 4)])
    try:
        rows = _ROWS.validate_json(text, strict=True)
    except ValidationError as err:
        raise Unreadable("it returns no tensors") from err
    if sum(prod(shape) * np.dtype(name).itemsize for _, name, shape, _ in rows if name in DTYPES) > _MOST_BYTES:
        raise Unreadable("its outputs are larger than the memory that they can lie in")
    return [_array(shared, *row) for row in rows]


def _array(shared: memoryview, at: int, name: str, shape: list[int], steps: list[int]) -> NDArray[Any]:
    if name not in DTYPES:
        raise Unreadable(f"an output is {name[:40]}, and no array of NumPy")
    dtype = np.dtype(name)
    try:
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, shared, at, [step * dtype.itemsize for step in steps]).copy()
    except (TypeError, ValueError, OverflowError, MemoryError) as err:
        raise Unreadable("an output lies where it cannot be read") from err
