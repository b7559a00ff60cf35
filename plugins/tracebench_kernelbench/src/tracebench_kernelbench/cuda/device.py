"""What the judge asks of a device: memory and events of its own, of which another process gets handles.

Work is put into one queue, the judge's, and is done in its order. The device gives its processes time by turns, so what any of them does
between two marks of that queue is inside of what lies between these marks. Nothing here knows CUDA: `card` drives a real device, and the
tests a device with a clock of its own.
"""

from __future__ import annotations

from typing import Any, Protocol


class Memory(Protocol):
    """Memory of the device that this process owns."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def handle(self) -> bytes:
        """What another process opens it by."""
        ...


class Gate(Protocol):
    """An event that one process signals and another waits for, each in a queue of its own; it says nothing of time."""

    @property
    def handle(self) -> bytes:
        """What another process opens it by."""
        ...


class Device(Protocol):
    """One device, opened by one thread. Every method but `settle`, `write` and `read` returns before the work is done.

    All raise `NotMeasured` where the device fails: that is never the candidate's score.
    """

    @property
    def name(self) -> str:
        """What it is called, for people."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory nobody has."""
        ...

    def allocate(self, size: int) -> Memory:
        """Take memory, of so many bytes; its contents are unknown."""
        ...

    def write(self, memory: Memory, at: int, data: Any) -> None:
        """Copy bytes of the host to the device, and wait until it is done."""
        ...

    def read(self, memory: Memory, at: int, size: int) -> bytes:
        """Copy bytes of the device to the host, and wait until it is done."""
        ...

    def poison(self, memory: Memory, at: int, size: int) -> None:
        """Set every bit: such floats are no numbers."""
        ...

    def copy(self, source: Memory, source_at: int, target: Memory, target_at: int, size: int) -> None:
        """Copy bytes on the device."""
        ...

    def flush(self) -> None:
        """Let nothing that was read or written before lie in the second-level cache, lines that were made to persist included."""
        ...

    def gauge(self, share: float = 1.0) -> None:
        """Do work that takes the same number of the device's cycles each time, and longer than one process has the device in a row.

        A share of it of a tenth takes less than that.
        """
        ...

    def gate(self) -> Gate:
        """Make a gate."""
        ...

    def signal(self, gate: Gate) -> None:
        """Signal a gate once all work before is done."""
        ...

    def wait(self, gate: Gate) -> None:
        """Do no further work until the last signal that was asked for up to now is there; at once where none was."""
        ...

    def mark(self) -> Any:
        """Note the time at which all work before is done."""
        ...

    def seconds(self, first: Any, second: Any) -> float:
        """Return what lies between two marks, once both are noted."""
        ...

    def settle(self, seconds: float) -> bool:
        """Wait until all work of this process is done, for so long at most; say whether it is."""
        ...

    def clock_hz(self) -> float | None:
        """Return the rate at which the device's processors run now; None where that is not told."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
