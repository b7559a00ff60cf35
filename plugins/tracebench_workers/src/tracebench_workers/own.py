"""Workers that the run starts on its own machine; they end when it does."""

from __future__ import annotations

import math
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tracebench_core.errors import TraceBenchError, quoted
from tracebench_core.specs import ExecutorSetting
from tracebench_workers.ticket import Ticket

MOST_RESTARTS = 3
"""In a row, with no job ended between."""
LEAVING = 30.0
"""Seconds that a worker whose jobs have ended may take to leave."""


class OwnWorkers:
    """Some workers, each started again when it dies."""

    def __init__(self, ticket: Ticket, setting: ExecutorSetting, number: int) -> None:
        self._ticket = ticket
        self._setting = setting
        self._slots = math.ceil(setting.workers / number)
        self._restarts = 0
        self._sessions: dict[int, str] = {}
        self._processes = [self._start() for _ in range(number)]

    def look(self) -> Iterator[str]:
        """Start those again that have died, and yield by what sessions those were known.

        Raises:
            TraceBenchError: when they keep dying.
        """
        for i, process in enumerate(self._processes):
            if process.poll() is None:
                continue
            self._restarts += 1
            if self._restarts > MOST_RESTARTS:
                raise TraceBenchError("The run's own workers keep ending.", hint=f"cat {quoted(self._log)}")
            session = self._sessions.pop(id(process))
            _close(process)
            self._processes[i] = self._start()
            yield session

    def is_well(self) -> None:
        """A job has ended: what died before did not die of the run itself."""
        self._restarts = 0

    def close(self) -> None:
        """End all of them."""
        for process in self._processes:
            _close(process)
        for process in self._processes:
            try:
                process.wait(LEAVING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def _log(self) -> Path:
        return Path(self._setting.run_dir, "workers.log")

    def _start(self) -> subprocess.Popen[bytes]:
        words = ["-P", "-m", "tracebench_workers", "--own", "--jobs", str(self._slots)]
        if self._setting.root is not None:
            words += ["--root", self._setting.root]
        with self._log.open("ab") as sink:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=sink,
                env=self._setting.environ,
                start_new_session=True,
            )
        assert process.stdin is not None  # noqa: S101 - a pipe
        session = self._sessions[id(process)] = uuid.uuid4().hex
        with suppress(BrokenPipeError):  # it has died at once, as the next look finds
            process.stdin.write(f"{self._ticket} {session}\n".encode())
            process.stdin.flush()
        return process


def _close(process: subprocess.Popen[bytes]) -> None:
    """Close what a worker reads; words that one left unread, which had died by then, are dropped."""
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
