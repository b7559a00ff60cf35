"""What the runner's end of a template meets outside of this process: other processes, and time."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tracebench_core.specs import ExecutorSetting
from tracebench_engine.job import kernel
from tracebench_engine.measure.wire import Wire
from tracebench_runs.storage.lock import lock_fds
from tracebench_sandbox.forkserver import HelperProcess, launch

LIFELESS = 120.0
"""Seconds for which a peer may take no message until it counts as gone."""


class Outside(Protocol):
    """How a template and its twin are started, heard and killed."""

    def launch(self, entry: str, setting: ExecutorSetting) -> tuple[HelperProcess, Wire, Wire]:
        """Start them; return the process, its wire, and that of the twin."""
        ...

    def ready(self, wires: Sequence[Wire], seconds: float) -> list[Wire]:
        """Return those that have something to say, waiting up to so many seconds for the first."""
        ...

    def now(self) -> float:
        """Return seconds since some moment."""
        ...

    def kill_tree(self, pid: int) -> None:
        """Kill a process and all below it."""
        ...


class ThisMachine:
    """Real processes and real time."""

    def launch(self, entry: str, setting: ExecutorSetting) -> tuple[HelperProcess, Wire, Wire]:
        """See `Outside`; what they print goes to `template.log` of the run."""
        ours, theirs = socket.socketpair()
        scoring, twins = socket.socketpair()
        with Path(setting.run_dir, "template.log").open("ab") as sink:
            process = launch(
                entry,
                ["--fd", str(theirs.fileno()), "--scoring-fd", str(twins.fileno())],
                environ=setting.environ,
                pass_fds=[theirs.fileno(), twins.fileno(), *lock_fds()],
                output=sink,
            )
        theirs.close()
        twins.close()
        return process, Wire(ours, patience=LIFELESS), Wire(scoring, patience=LIFELESS)

    def ready(self, wires: Sequence[Wire], seconds: float) -> list[Wire]:
        """See `Outside`."""
        return select.select(wires, [], [], seconds)[0]

    def now(self) -> float:
        """See `Outside`."""
        return time.monotonic()

    def kill_tree(self, pid: int) -> None:
        """See `Outside`."""
        kernel.kill_tree(pid)


HERE = ThisMachine()
