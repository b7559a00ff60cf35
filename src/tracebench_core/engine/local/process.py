"""The runner's end of a template: what it tells, what it hears, and for how long it waits until it takes a silent one for lost."""

from __future__ import annotations

import logging
import select
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tracebench_core.engine import kernel
from tracebench_core.engine.wire import Wire
from tracebench_core.forkserver import launch
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_core.store.lock import lock_fds

log = logging.getLogger(__name__)

TICK = 1.0
"""Seconds of one wait. Patience is counted in waits, none of which counts for more: while the runner itself is held, none passes."""
PING_AFTER = 10.0
"""Seconds of silence after which a template is asked whether it is alive."""
LIFELESS = 120.0
"""Seconds of silence after which it is taken for lost."""
STARTING = 900.0
"""The same before its first word: it imports what the run needs."""
CLOSING = 30.0
"""Seconds that ending everything may take beyond the grace of the jobs; what is left then is killed."""


class TemplateProcess:
    """The runner's end of a template and of its twin, which alone is told what only scoring may hold."""

    def __init__(self, entry: str, setting: ExecutorSetting) -> None:
        ours, theirs = socket.socketpair()
        scoring, twins = socket.socketpair()
        with Path(setting.run_dir, "template.log").open("ab") as sink:
            self._process = launch(
                entry,
                ["--fd", str(theirs.fileno()), "--scoring-fd", str(twins.fileno())],
                environ=setting.environ,
                pass_fds=[theirs.fileno(), twins.fileno(), *lock_fds()],
                output=sink,
            )
        theirs.close()
        twins.close()
        self._wires = self._wire, self._scoring = _Line(ours), _Line(scoring)
        self._grace = 0.0
        self._wire.send({"setting": setting.model_dump(mode="json")})

    @property
    def is_gone(self) -> bool:
        """Whether the template or its twin has ended without being asked to, or is taken for lost."""
        return any(wire.closed for wire in self._wires)

    def start(self, order: JobOrder) -> None:
        """Have a job's process forked."""
        job = order.job
        self._grace = max(self._grace, order.grace)
        wire = self._wire if order.phase == "train" else self._scoring
        wire.send(
            {
                "start": order.model_dump_json(),
                "job": job.job_id,
                "timeout": order.time_limit,
                "grace": order.grace,
                "workdir": str(Path(order.run_dir) / "jobs" / job.job_id / "work"),
            }
        )

    def send(self, message: dict[str, Any]) -> None:
        """Tell both something."""
        for wire in self._wires:
            if not wire.closed:
                wire.send(message)

    def wait(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Return the ends of jobs, waiting for the next one; an empty list when the template is gone, or the seconds are over."""
        while not self.is_gone:
            ends = self._hear(TICK if timeout is None else min(timeout, TICK))
            if ends or timeout is not None:
                return ends
            for wire in self._wires:
                wire.look_after()
        return []

    def close(self) -> None:
        """End the template and everything below it, with grace for the jobs; nothing is left when this returns."""
        self.send({"stop": True})
        patience = self._grace + CLOSING
        while patience > 0 and not all(wire.closed for wire in self._wires):
            open_ = [wire for wire in self._wires if not wire.closed]
            if not select.select(open_, [], [], TICK)[0]:
                patience -= TICK
            for wire in open_:
                wire.hear(0.0)
        for wire in self._wires:
            wire.end()
        try:
            self._process.wait(TICK)
        except subprocess.TimeoutExpired:
            kernel.kill_tree(self._process.pid)
            self._process.wait()

    def _hear(self, seconds: float) -> list[dict[str, Any]]:
        if not any(wire.has_messages for wire in self._wires):
            began = time.monotonic()
            ready = select.select(self._wires, [], [], seconds)[0]
            for wire in set(self._wires) - set(ready):
                wire.silent += min(time.monotonic() - began, seconds)
        return [message for wire in self._wires for message in wire.hear(0.0) if "end" in message]


class _Line(Wire):
    """The wire to one of the two processes, and what is known of whoever is at its other end."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__(end, patience=LIFELESS)
        self.silent = 0.0
        """Seconds waited since the last word."""
        self._pid: int | None = None
        """None before its first word."""
        self._asked = 0.0

    def hear(self, seconds: float) -> list[dict[str, Any]]:
        """Return the messages that are here, as `receive` does, and remember that there were any."""
        messages = self.receive(timeout=seconds)
        if messages:
            self.silent = self._asked = 0.0
        for message in messages:
            self._pid = message.get("ready", self._pid)
        return messages

    def look_after(self) -> None:
        """Ask whether the other side is alive when it has long said nothing, and give it up when that is not answered."""
        if self.silent >= (LIFELESS if self._pid is not None else STARTING):
            log.warning("the process that holds the jobs has not said a word for %g s and is killed", self.silent)
            self.end()
        elif self.silent >= self._asked + PING_AFTER:
            self._asked = self.silent
            self.send({"ping": True})

    def end(self) -> None:
        """Kill whoever is still there, with all below, and close."""
        if self._pid is not None and (self.is_hung or not self.closed):
            kernel.kill_tree(self._pid)
        self.closed = True
        self.close()
