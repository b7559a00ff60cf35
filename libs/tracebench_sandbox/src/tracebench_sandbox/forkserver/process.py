"""A helper that was forked by a server, with the methods of `subprocess.Popen` that its owner needs."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from threading import Lock
from typing import IO


class ForkedProcess:
    """A child of this process that another process forked."""

    def __init__(self, pid: int, *, stdin: IO[bytes] | None = None) -> None:
        self.pid = pid
        self.stdin = stdin
        self.returncode: int | None = None
        self._pidfd = os.pidfd_open(pid)
        self._reaping = Lock()

    def poll(self) -> int | None:
        """Return the exit code (negative: the signal that ended it), or None while it runs."""
        with self._reaping:
            if self.returncode is None and select.select([self._pidfd], [], [], 0)[0]:
                self.returncode = _reap(self.pid)
                os.close(self._pidfd)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code.

        Raises:
            subprocess.TimeoutExpired: when it still runs after `timeout` seconds.
        """
        if self.returncode is None and not select.select([self._pidfd], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        code = self.poll()
        if code is None:
            raise RuntimeError("unreachable: a process that ended has an exit code")
        return code

    def kill(self) -> None:
        """Kill it; nothing happens once it has ended."""
        with self._reaping:
            if self.returncode is None:
                os.kill(self.pid, signal.SIGKILL)


HelperProcess = subprocess.Popen[bytes] | ForkedProcess
"""A helper, however it was started."""


def _reap(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # somebody else waited for it
        return 255
