"""The runner's end of a template: what it tells, what it hears, and for how long it waits until it takes a silent one for lost."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.outside import HERE, LIFELESS, Outside

log = logging.getLogger(__name__)

ENDS = frozenset({"done", "trained", "timeout", "cancelled", "unwritable", "died"})
"""What a template says of how a process ended; see `execution.ending`."""
TICK = 1.0
"""Seconds of one wait. Patience is counted in waits, none of which counts for more: while the runner itself is held, none passes."""
PING_AFTER = 10.0
"""Seconds of silence after which a template is asked whether it is alive."""
STARTING = 900.0
"""The same before its first word: it imports what the run needs."""
SHORTEST = 0.001
"""Seconds that each word costs at the least while everything is ended: endless talk is no reason to wait."""
CLOSING = 30.0
"""Seconds that ending everything may take beyond the grace of the jobs; what is left then is killed."""


class TemplateProcess:
    """The runner's end of a template and of its twin, which alone is told what only scoring may hold."""

    def __init__(
        self, entry: str, setting: ExecutorSetting, *, numbers: Iterator[int], outside: Outside = HERE
    ) -> None:
        """`numbers`: of its starts. They go on from one template to the next: no end is taken for that of another start."""
        self._outside = outside
        self._process, training, scoring = outside.launch(entry, setting)
        self._lines = self._training, self._scoring = _Line(training, outside), _Line(scoring, outside)
        self._grace = 0.0
        self._numbers = numbers
        self._cancelled: set[str] = set()
        self._training.wire.send({"setting": setting.model_dump(mode="json")})

    @property
    def twins_seconds(self) -> float:
        """What the twin, nobody's child, and all below it took of processors; 0 before its end, or where it could not tell."""
        return self._scoring.used

    @property
    def is_gone(self) -> bool:
        """Whether the template or its twin has ended without being asked to, or is taken for lost."""
        return any(line.wire.closed for line in self._lines)

    def start(self, order: JobOrder) -> None:
        """Have a job's process forked."""
        job = order.job
        self._grace = max(self._grace, order.grace)
        number = next(self._numbers)
        line = self._training if order.phase == "train" else self._scoring
        line.awaited[number] = job.job_id
        line.wire.send(
            {
                "start": order.model_dump_json(),
                "number": number,
                "job": job.job_id,
                "phase": order.phase,
                "timeout": order.time_limit,
                "grace": order.grace,
                "workdir": str(Path(order.run_dir) / "jobs" / job.job_id / "work"),
            }
        )

    def send(self, message: dict[str, Any]) -> None:
        """Tell both something."""
        for line in self._lines:
            if not line.wire.closed:
                line.wire.send(message)

    def cancel(self, job_id: str) -> None:
        """Have a job ended, from any thread."""
        self._cancelled.add(job_id)
        self.send({"cancel": job_id})

    def wait(self, timeout: float | None = None) -> list[dict[str, Any]]:
        """Return the ends of jobs, waiting for the next one; an empty list when the template is gone, or the seconds are over."""
        while not self.is_gone:
            ends = self._hear(TICK if timeout is None else min(timeout, TICK))
            if ends or timeout is not None:
                return ends
            for line in self._lines:
                line.look_after(self._patience(line))
        return []

    def close(self) -> None:
        """End the template and everything below it, with grace for the jobs; nothing is left when this returns."""
        self.send({"stop": True})
        patience = self._grace + CLOSING
        while patience > 0 and (open_ := [line for line in self._lines if not line.wire.closed]):
            began = self._outside.now()
            self._outside.ready([line.wire for line in open_], min(TICK, patience))
            patience -= min(self._outside.now() - began, TICK) or SHORTEST
            for line in open_:
                line.hear()
        for line in self._lines:
            line.end()
        try:
            self._process.wait(TICK)
        except subprocess.TimeoutExpired:
            self._outside.kill_tree(self._process.pid)
            self._process.wait()

    def _patience(self, line: _Line) -> float:
        """Return the seconds of silence after which whoever is at a line's end is given up: few when nobody needs it but to end jobs."""
        if line.awaited and self._cancelled.issuperset(line.awaited.values()):
            return self._grace + CLOSING
        return LIFELESS if line.has_spoken else STARTING

    def _hear(self, seconds: float) -> list[dict[str, Any]]:
        if not any(line.wire.has_messages for line in self._lines):
            began = self._outside.now()
            ready = self._outside.ready([line.wire for line in self._lines], seconds)
            for line in self._lines:
                if line.wire not in ready:
                    line.silent += min(self._outside.now() - began, seconds)
        return [end for line in self._lines for end in line.hear()]


class _Line:
    """The wire to one of the two processes, and what is known of whoever is at its other end."""

    def __init__(self, wire: Wire, outside: Outside) -> None:
        self.wire = wire
        self._outside = outside
        self.awaited: dict[int, str] = {}
        """Jobs whose ends are still to be told here, by the number of their start."""
        self.silent = 0.0
        """Seconds waited since the last word."""
        self._pid: int | None = None
        """None before its first word."""
        self._asked = 0.0
        self.used = 0.0
        """Seconds of processors, told as the last word."""

    def hear(self) -> list[dict[str, Any]]:
        """Return the ends of jobs that are told, each once and of jobs alone that were started here; remember that there was a word."""
        messages = self.wire.receive(timeout=0.0)
        if messages:
            self.silent = self._asked = 0.0
        ends = []
        for message in messages:
            self._pid = message.get("ready", self._pid)
            if isinstance(message.get("used"), float):
                self.used = message["used"]
            if "end" not in message:
                continue
            number = message.get("number")
            if isinstance(number, int) and message["end"] == self.awaited.get(number) and message.get("exit") in ENDS:
                del self.awaited[number]
                ends.append({"detail": "", **message})
            else:
                log.warning("the process that holds the jobs tells the end of what was not begun, or has ended already")
        return ends

    @property
    def has_spoken(self) -> bool:
        """Whether anything was heard yet."""
        return self._pid is not None

    def look_after(self, patience: float) -> None:
        """Ask whether the other side is alive when it has long said nothing, and give it up after so many seconds of silence."""
        if self.silent >= patience:
            log.warning("the process that holds the jobs has not said a word for %g s and is killed", self.silent)
            self.end()
        elif self.silent >= self._asked + PING_AFTER:
            self._asked = self.silent
            self.wire.send({"ping": True})

    def end(self) -> None:
        """Kill whoever is still there, with all below, and close."""
        if self._pid is not None and (self.wire.is_hung or not self.wire.closed):
            self._outside.kill_tree(self._pid)
        self.wire.closed = True
        self.wire.close()
