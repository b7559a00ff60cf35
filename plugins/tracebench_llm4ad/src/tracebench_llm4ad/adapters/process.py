"""The trusted side of an evaluator's process: started on need, asked once at a time, killed at the deadline."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracebench_core.errors import PluginError
from tracebench_llm4ad.adapters.server import CAP
from tracebench_sandbox import CodecError, Decoder, Encoder, read_frame, write_frame

LOADING_SECONDS = 120.0


class Overdue(Exception):  # noqa: N818 - what happened, not whose fault
    """The evaluator did not answer in time, or is gone."""


class EvaluatorProcess:
    """One process with one loaded task."""

    def __init__(self, order: Mapping[str, Any], *, key: str) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._folder = tempfile.mkdtemp(prefix="evaluator-", dir=Path.cwd())  # a job's is its own, and goes with it
        command = [
            sys.executable,
            "-P",
            "-W",
            "ignore",
            "-m",
            "tracebench_llm4ad.adapters.server",
            str(theirs.fileno()),
            self._folder,
        ]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                pass_fds=[theirs.fileno()],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            theirs.close()
        self._end = weakref.finalize(self, _end, self._process, ours, self._folder, os.getpid())
        try:
            self._send(order)
            answer = self._receive(time.monotonic() + LOADING_SECONDS)
        except Overdue as err:
            self.close()
            raise PluginError(f"Task `{key}` cannot be loaded: {err}", hint="trace-bench list-tasks --json") from err
        if "broken" in answer:
            self.close()
            raise PluginError(
                f"Task `{key}` cannot be loaded: {answer['broken']}",
                hint="install what it misses, or leave the task out of the selection",
            )
        self.facts: dict[str, Any] = answer["facts"]

    def evaluate(
        self, request: Mapping[str, Any], call: Callable[[list[Any]], Any], *, seconds: float
    ) -> dict[str, Any]:
        """Return the evaluator's report; `call` gives the candidate's value for a list of arguments.

        Raises:
            Overdue: after `seconds`, or when the process is gone; it must be closed then, as after an exception of `call`.
        """
        deadline = time.monotonic() + seconds
        self._send(request)
        while True:
            message = self._receive(deadline)
            if "report" in message:
                report: dict[str, Any] = message["report"]
                return report
            self._send({"value": call(message["call"])})

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._end.alive and self._process.poll() is None

    def close(self) -> None:
        """Kill it and everything that it forked. Idempotent."""
        self._end()

    def _send(self, message: Any) -> None:
        try:
            write_frame(self._socket.fileno(), Encoder(CAP).pack(message))
        except OSError as err:
            raise Overdue("the evaluator's process has ended.") from err

    def _receive(self, deadline: float) -> Any:
        ready, _, _ = select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise Overdue("the evaluator did not finish in time.")
        try:
            return read_frame(self._socket.fileno(), decoder=Decoder(plain=False))
        except (EOFError, OSError) as err:
            raise Overdue("the evaluator's process has ended.") from err
        except CodecError as err:
            raise Overdue(f"what the evaluator sent {err}.") from err


class Pool:
    """Evaluator processes of one task, one for each thread that asks at the same time."""

    def __init__(self, order: Mapping[str, Any], *, key: str) -> None:
        self._order, self._key = order, key
        self._lock = threading.Lock()
        self._idle: list[EvaluatorProcess] = []
        self._owner = os.getpid()

    @contextmanager
    def borrowed(self) -> Iterator[EvaluatorProcess]:
        """Lend a process; it comes back when the block ends well, else it is closed."""
        process = self._take()
        try:
            yield process
        except BaseException:
            process.close()
            raise
        with self._lock:
            self._idle.append(process)

    def close(self) -> None:
        """End all that are not lent out."""
        with self._lock:
            for process in self._idle:
                process.close()
            self._idle.clear()

    def _take(self) -> EvaluatorProcess:
        with self._lock:
            if self._owner != os.getpid():  # forked: the sockets belong to the parent
                self._idle, self._owner = [], os.getpid()
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    return process
                process.close()
        return EvaluatorProcess(self._order, key=self._key)


def _end(process: subprocess.Popen[bytes], ours: socket.socket, folder: str, owner: int) -> None:
    ours.close()
    if owner != os.getpid():
        return
    process.kill()
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)
