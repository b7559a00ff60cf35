"""A job's problem for programs outside its process: JSON lines over a private Unix socket, one token a job.

The thread that trains serves the door: a signal that ends the job ends the door. Evaluations run beside it, as many at a time as the run
allows and in the order in which they were asked for; whatever else is asked meanwhile is answered at once. Every connection has one
request under way, so that nobody who asks much makes the others wait. `tracebench_client.py` is the other side.
"""

from __future__ import annotations

import contextvars
import hmac
import json
import os
import secrets
import selectors
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted, TraceBenchError
from tracebench_engine.door.calls import DoorCalls
from tracebench_sandbox import temporary

PROTOCOL = 2
VARIABLE = "TRACEBENCH_DOOR"
CLIENT_FOLDER = Path(__file__).with_name("foreign")
"""Holds the client, one file that needs nothing of ours."""
LARGEST_REQUEST = 64 << 20
"""Bytes of one line, and of all lines that are not read to their ends; a program that sends more loses its connection."""
LARGEST_GREETING = 4096
"""Bytes of a line from somebody who has not shown the token."""
MOST_LINES = 512
"""Connections at a time; one more is closed at once."""
READ_BYTES = 1 << 16
SEND_SECONDS = 30.0
"""A program that does not take its answer for so long loses its connection."""
EVALUATION = "evaluate"
"""The one method that takes long."""
TICK = 0.2
"""Seconds between looks at whether serving is over."""


class Door:
    """Open while the trainer serves it; use it as a context manager."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._calls = DoorCalls(problem)
        self._token = secrets.token_hex(16)
        self._folder = temporary.socket_folder("door")
        self._path = self._folder / "door"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._lines: list[_Line] = []
        self._bell, self._ring = socket.socketpair()
        self._selector.register(self._bell, selectors.EVENT_READ, None)
        self._measured: SimpleQueue[tuple[_Line, Future[bool]]] = SimpleQueue()
        self.refused_at: float | None = None
        """Monotonic seconds at which an evaluation was first refused."""

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """Where the socket lies, and nothing else."""
        return self._folder

    @property
    def address(self) -> str:
        """What `$TRACEBENCH_DOOR` holds."""
        return f"{self._path}#{self._token}"

    def environ(self, base: Mapping[str, str], *, folder: Path | None = None) -> dict[str, str]:
        """Return the variables that lead a program to this door; its `PYTHONPATH` goes before that of `base`.

        `folder` is where the program finds this door's folder, if that is elsewhere for it.
        """
        path = os.pathsep.join(filter(None, [str(CLIENT_FOLDER), base.get("PYTHONPATH")]))
        address = self.address if folder is None else f"{folder / self._path.name}#{self._token}"
        return {VARIABLE: address, "PYTHONPATH": path}

    def serve(self, *, until: Callable[[], bool], wake: int | None = None) -> None:
        """Answer requests until `until()` holds; `wake` is a file descriptor that becomes readable when it may.

        Raises:
            ModelError: when the gateway is gone, and whatever else the problem raises that is no fault of the request.
        """
        if wake is not None:
            self._selector.register(wake, selectors.EVENT_READ, None)
        evaluations = ThreadPoolExecutor(self._problem.workers, "door")
        try:
            while not until():
                for key, _ in self._selector.select(TICK):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._bell:
                        self._listen_again(evaluations)
                    elif key.data is not None:
                        self._read(key.data, evaluations)
            evaluations.shutdown(cancel_futures=True)  # what has begun is paid for, and kept
            while not self._measured.empty():
                _, future = self._measured.get()
                if not future.cancelled():
                    future.result()
        finally:
            evaluations.shutdown(wait=False, cancel_futures=True)
            if wake is not None:
                self._selector.unregister(wake)
            self._calls.end_step()

    def close(self) -> None:
        """Hang up on everybody and remove the socket. Idempotent."""
        for line in list(self._lines):
            self._hang_up(line)
        self._selector.close()
        self._listener.close()
        self._bell.close()
        self._ring.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if len(self._lines) >= MOST_LINES:
            connection.close()
            return
        connection.settimeout(SEND_SECONDS)
        line = _Line(connection)
        self._lines.append(line)
        self._selector.register(connection, selectors.EVENT_READ, line)

    def _read(self, line: _Line, evaluations: ThreadPoolExecutor) -> None:
        try:
            data = line.connection.recv(READ_BYTES)
        except OSError:
            data = b""
        line.waiting += data
        if not data or not self._may_wait(line):
            self._hang_up(line)
            return
        if b"\n" in data:
            self._go_on(line, evaluations)

    def _may_wait(self, line: _Line) -> bool:
        """Say whether this process may hold what a connection has sent: what it sends is no memory of its own, which is capped."""
        if not line.is_open and b"\n" not in line.waiting:
            return len(line.waiting) <= LARGEST_GREETING
        return sum(len(one.waiting) for one in self._lines) <= LARGEST_REQUEST

    def _go_on(self, line: _Line, evaluations: ThreadPoolExecutor) -> None:
        """Answer what a connection has asked, up to an evaluation; what follows that waits until it is answered."""
        while b"\n" in line.waiting:
            request, _, line.waiting = line.waiting.partition(b"\n")
            try:
                method, params = json.loads(request)
                is_evaluation = line.is_open and method == EVALUATION
            except (ValueError, TypeError, RecursionError) as err:
                if not self._reply(line, ["error", f"a request is `[method, params]` in JSON: {err}"]):
                    return
                continue
            if is_evaluation:
                self._begin(line, params, evaluations)
                return
            if not self._reply(line, self._answer(line, method, params)):
                return

    def _begin(self, line: _Line, params: Mapping[str, Any], evaluations: ThreadPoolExecutor) -> None:
        """Have an evaluation measured; the connection is not listened to until it is answered."""
        self._selector.unregister(line.connection)
        line.is_waiting = True
        step = contextvars.copy_context()  # what is measured belongs to the step that is open now
        future = evaluations.submit(step.run, self._measure, line, params)
        future.add_done_callback(lambda future: self._announce(line, future))

    def _measure(self, line: _Line, params: Mapping[str, Any]) -> bool:
        """Send one evaluation to whoever asked for it; tell whether they took it."""
        return _send(line.connection, self._answer(line, EVALUATION, params))

    def _announce(self, line: _Line, future: Future[bool]) -> None:
        self._measured.put((line, future))
        with suppress(OSError):  # the door was closed meanwhile
            self._ring.send(b"!")

    def _listen_again(self, evaluations: ThreadPoolExecutor) -> None:
        """Hear what somebody asks next who was sent an evaluation."""
        self._bell.recv(1)
        line, future = self._measured.get()
        is_there = future.result()
        self._selector.register(line.connection, selectors.EVENT_READ, line)
        line.is_waiting = False
        if is_there:
            self._go_on(line, evaluations)
        else:
            self._hang_up(line)

    def _answer(self, line: _Line, method: str, params: Mapping[str, Any]) -> list[Any]:
        """Return `["ok", result]`, `["error", words]` or `["budget", [axis, scope]]`."""
        try:
            if method == "open":
                return self._open(line, **params)
            if not line.is_open:
                return ["error", "the first request must open the door with its token"]
            return ["ok", self._calls.call(method, params, caller=line)]
        except BudgetExhausted as spent:
            self.refused_at = self.refused_at or time.monotonic()
            return ["budget", [spent.axis, spent.scope]]
        except (ValueError, TypeError, KeyError, RecursionError, TraceBenchError) as err:
            return ["error", f"{type(err).__name__}: {err}"]

    def _open(self, line: _Line, *, token: str, protocol: int) -> list[Any]:
        if not isinstance(token, str):
            raise TypeError("a token is a text")
        if protocol != PROTOCOL:
            return ["error", f"this door speaks protocol {PROTOCOL}, not {protocol}: use the client that comes with it"]
        line.is_open = hmac.compare_digest(token.encode(), self._token.encode())
        return ["ok", self._calls.describe()] if line.is_open else ["error", "this token is not this job's"]

    def _reply(self, line: _Line, answer: list[Any]) -> bool:
        if not _send(line.connection, answer):
            self._hang_up(line)
            return False
        return True

    def _hang_up(self, line: _Line) -> None:
        if not line.is_waiting:
            self._selector.unregister(line.connection)
        line.connection.close()
        self._lines.remove(line)
        self._calls.hang_up(line)


class _Line:
    """One connection and what it has sent of its next request."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.waiting = bytearray()
        self.is_open = False
        self.is_waiting = False
        """For an evaluation; it is not listened to meanwhile."""


def _send(connection: socket.socket, answer: list[Any]) -> bool:
    """Send an answer; tell whether it was taken."""
    try:
        text = json.dumps(answer, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as err:
        text = json.dumps(["error", f"the answer is not JSON: {err}"])
    try:
        connection.sendall(text.encode() + b"\n")
    except OSError:
        return False
    return True


def _plain(value: Any) -> Any:
    """Turn arrays into lists; what has no JSON form is named by its type."""
    return value.tolist() if hasattr(value, "tolist") else {"not_json": type(value).__qualname__}
