"""A worker's place in Ray: an actor that holds it as a process of its own, on the node that Ray has chosen."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from tracebench_ray.words import Order

TICK = 0.5


class Seat:
    """Ray runs its methods on threads. When it dies, in whatever way, its worker reads the end of a pipe, and ends by itself."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def where(self) -> str:
        """Return on which machine this is."""
        return socket.gethostname()

    def hold(self, order: str, name: str, session: str) -> int:
        """Start the worker, and return when it has ended, with what code."""
        wanted = Order.model_validate_json(order)
        words = ["-P", "-m", "tracebench_workers", "--own", "--jobs", str(wanted.jobs), "--name", name]
        if wanted.root is not None:
            words += ["--root", wanted.root]
        python = wanted.python or sys.executable
        process = subprocess.Popen([python, *words], cwd=wanted.folder, stdin=subprocess.PIPE)  # noqa: S603 - our own module
        assert process.stdin is not None  # noqa: S101 - a pipe
        self._process = process
        process.stdin.write(f"{wanted.ticket} {session}\n".encode())
        process.stdin.flush()
        parent = os.getppid()
        while True:
            try:
                return process.wait(TICK)
            except subprocess.TimeoutExpired:
                if (
                    os.getppid() != parent
                ):  # Ray's raylet has died: an actor outlives it for as long as a method of it runs
                    self.end()

    def end(self) -> None:
        """Have the worker end its jobs and itself."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
