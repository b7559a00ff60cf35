"""Calls of two guests by turns on inputs that nobody has seen before, timed by the judge's own marks.

A call is one row of work in the judge's queue: a mark; inputs are copied to where the guest reads them; the second-level cache is cleared;
the gate is opened; the guest works; its outputs are copied to where it cannot reach them; a mark. So nobody can work before time counts,
for there are no inputs; and whatever is not done when the guest says that it is, is not in the copy, whose numbers are poison. The device
gives processes time by turns, so work on other streams, in graphs and in kernels that never end lies between the marks as well. What is
taken off, the judge's own share, is what the same row of work took at best without a guest, on a quiet device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.device import Device, Memory
from tracebench_kernelbench.cuda.guests import Guest, Reply, size_of
from tracebench_kernelbench.cuda.quiet import Handing, handing_of, is_busy
from tracebench_kernelbench.cuda.serving import Row
from tracebench_kernelbench.modules.comparing import Arrays

_ALIGNED, _STEP, _PLACES = 4096, 256, 16
"""Arrays begin on a page; by turns some lines farther, since where an array lies can be worth something."""
_EMPTY, _QUIET, _SHORT = 16, 8, 16
"""Calls without work; gauges of a quiet device, short and long; and how many short ones make a long one."""
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a call is given: arrays, whose bytes lie in the judge's memory, and plain values."""

    values: Sequence[Any]
    rows: Sequence[Row]
    plain: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended. `seconds` is without the judge's own share."""

    reply: Reply
    seconds: float = 0.0
    outputs: Arrays = ()


@dataclass
class Turns:
    """The judge's memory and marks for the calls of one candidate.

    Raises:
        NotMeasured: by every method, where the device fails or is too small.
    """

    device: Device
    inputs_size: int
    outputs_size: int
    staging: Memory = field(init=False)
    snapshot: Memory = field(init=False)
    quiet: float = field(init=False, default=0.0)
    """Seconds that the gauge takes while nobody else works."""
    handing: Handing = field(init=False, default=Handing(0.0, 0.0))

    def __post_init__(self) -> None:
        """Take memory."""
        self.staging = self.device.allocate(self.inputs_size)
        self.snapshot = self.device.allocate(self.outputs_size)

    def draw(self, desk: Guest, seed: int) -> Sequence[Any]:
        """Return the inputs of a seed, drawn by a trusted guest."""
        reply = trusted(desk.ask("draw", _PATIENCE, seed=seed))
        arrays = iter([self._array(desk.memory, row) for row in reply.rows])
        return [next(arrays) if value is None else value[0] for value in reply.plain]

    def put(self, values: Sequence[Any], *, turn: int) -> Inputs:
        """Copy inputs to the judge's memory on the device, for calls of one turn."""
        arrays = [np.ascontiguousarray(value) for value in values if isinstance(value, np.ndarray)]
        ends = accumulate((-(-array.nbytes // _ALIGNED) + 1) * _ALIGNED for array in arrays)
        begin = [at + turn % _PLACES * _STEP for at in [0, *ends][: len(arrays)]]
        if arrays and begin[-1] + arrays[-1].nbytes > self.inputs_size:
            raise NotMeasured("The inputs of this problem do not fit into the device's memory.", retry=False)
        for at, array in zip(begin, arrays, strict=True):
            self.device.write(self.staging, at, array.data)
        rows = [(at, array.dtype.name, list(array.shape)) for at, array in zip(begin, arrays, strict=True)]
        plain = [None if isinstance(value, np.ndarray) else [value] for value in values]
        return Inputs(values, rows, plain)

    def look(self, guest: Guest, inputs: Inputs) -> None:
        """See what a quiet device takes for the gauge and for a call without work; no candidate may have begun.

        Raises:
            NotMeasured: where somebody else works on the device.
        """
        short = [
            self._gauge(1 / _SHORT) for _ in range(_QUIET)
        ]  # what somebody else does at the same time lies between some of these
        gauges = [self._gauge() for _ in range(_QUIET)]
        empty = []
        for _ in range(_EMPTY):
            first = self._begin(guest, inputs)
            empty.append((first, self._end(guest.memory, guest.rows)))
        self._settle()
        taken = [self.device.seconds(*pair) for pair in gauges]
        self.quiet = _SHORT * min(self.device.seconds(*pair) for pair in short)
        if is_busy(taken, self.quiet):
            raise NotMeasured("The device is not quiet: another process works on it.")
        self.handing = handing_of([self.device.seconds(*pair) for pair in empty])

    def call(self, guest: Guest, inputs: Inputs, seconds: float, gauges: list[float]) -> Called:
        """Call a guest; `gauges` gets what the gauge took before and after. One that does not end in so many seconds is ended."""
        for row in guest.rows:
            self.device.poison(guest.memory, row[0], size_of(row))
        before = self._gauge()
        first = self._begin(guest, inputs)
        self.device.signal(guest.go)
        reply = guest.ask("call", seconds, rows=inputs.rows, plain=inputs.plain)
        if reply.status != "ok":
            return Called(reply)
        if sum(map(size_of, reply.rows)) > self.outputs_size:
            return Called(Reply("error", "its outputs are larger than the memory that they are copied to"))
        guest.rows = reply.rows
        self.device.wait(guest.done)
        last = self._end(guest.memory, reply.rows)
        after = self._gauge()
        if not self.device.settle(seconds):
            guest.close()
            return Called(Reply("timeout", f"It took longer than {seconds:g} s."))
        gauges += [self.device.seconds(*before), self.device.seconds(*after)]
        return Called(reply, self.handing.net(self.device.seconds(first, last)), self._outputs(reply.rows))

    def _begin(self, guest: Guest, inputs: Inputs) -> Any:
        first = self.device.mark()
        for row in inputs.rows:
            self.device.copy(self.staging, row[0], guest.memory, row[0], size_of(row))
        self.device.flush()
        return first

    def _end(self, memory: Memory, rows: Sequence[Row]) -> Any:
        for row, at in zip(rows, _places(rows), strict=True):
            self.device.copy(memory, row[0], self.snapshot, at, size_of(row))
        return self.device.mark()

    def _gauge(self, share: float = 1.0) -> tuple[Any, Any]:
        first = self.device.mark()
        self.device.gauge(share)
        return first, self.device.mark()

    def _outputs(self, rows: Sequence[Row]) -> Arrays:
        return [self._array(self.snapshot, (at, *row[1:])) for row, at in zip(rows, _places(rows), strict=True)]

    def _array(self, memory: Memory, row: Row) -> NDArray[Any]:
        data = self.device.read(memory, row[0], size_of(row))
        return np.frombuffer(data, row[1]).reshape(row[2])

    def _settle(self) -> None:
        if not self.device.settle(_PATIENCE):
            raise NotMeasured("The device does not come to an end with the judge's own work.")


def trusted(reply: Reply) -> Reply:
    """Return the reply of the reference.

    Raises:
        NotMeasured: when it failed.
    """
    if reply.status != "ok":
        raise NotMeasured(f"The reference failed: {reply.words}", retry=False)
    return reply


def _places(rows: Sequence[Row]) -> list[int]:
    return [0, *accumulate(map(size_of, rows))][: len(rows)]
