"""What this machine's executor waits for in a worker: its jobs, as anywhere, and an order that has come meanwhile."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress

from tracebench_engine.api.executors import ThisMachine, Wire


class Wake:
    """Something that one thread sets and another waits for beside its files."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Return what is readable once it is set."""
        return self._read

    def set(self) -> None:
        """Wake whoever waits, now or when it next does."""
        with suppress(BlockingIOError):
            os.write(self._write, b".")

    def clear(self) -> None:
        """Forget that it was set."""
        with suppress(BlockingIOError):
            os.read(self._read, 1 << 16)


class Awake(ThisMachine):
    """Waits as this machine does, and no longer once it is woken."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake

    def ready(self, wires: Sequence[Wire], seconds: float) -> list[Wire]:
        """See `Outside`."""
        found = select.select([self._wake.fileno(), *(wire.fileno() for wire in wires)], [], [], seconds)[0]
        if self._wake.fileno() in found:
            self._wake.clear()
        return [wire for wire in wires if wire.fileno() in found]
