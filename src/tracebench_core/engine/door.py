"""A job's problem for programs outside its process: JSON lines over a private Unix socket, one token a job.

The door serves in the thread that trains, one request after another: evaluations run where they always do, a signal that ends the job
ends the door, and no thread is left behind. `tracebench_client.py` is the other side.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import selectors
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tracebench_core import temporary
from tracebench_core.contracts import Problem
from tracebench_core.engine.door_calls import DoorCalls
from tracebench_core.errors import BudgetExhausted, TraceBenchError

PROTOCOL = 2
VARIABLE = "TRACEBENCH_DOOR"
CLIENT_FOLDER = Path(__file__).with_name("foreign")
"""Holds the client, one file that needs nothing of ours."""
LARGEST_REQUEST = 64 << 20
"""Bytes of one line; a program that sends more loses its connection."""
READ_BYTES = 1 << 16
SEND_SECONDS = 30.0
"""A program that does not take its answer for so long loses its connection."""
TICK = 0.2
"""Seconds between looks at whether serving is over."""


class Door:
    """Open while the trainer serves it; use it as a context manager."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._calls = DoorCalls(problem)
        self._token = secrets.token_hex(16)
        self._folder = temporary.make_folder("door")  # short: a socket's path has 107 bytes at most
        self._path = self._folder / "door"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._lines: list[_Line] = []
        self.refused_at: float | None = None
        """Monotonic seconds at which an evaluation was first refused."""

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """What `$TRACEBENCH_DOOR` holds."""
        return f"{self._path}#{self._token}"

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that lead a program to this door; its `PYTHONPATH` goes before that of `base`."""
        path = os.pathsep.join(filter(None, [str(CLIENT_FOLDER), base.get("PYTHONPATH")]))
        return {VARIABLE: self.address, "PYTHONPATH": path}

    def serve(self, *, until: Callable[[], bool], wake: int | None = None) -> None:
        """Answer requests until `until()` holds; `wake` is a file descriptor that becomes readable when it may.

        Raises:
            ModelError: when the gateway is gone, and whatever else the problem raises that is no fault of the request.
        """
        if wake is not None:
            self._selector.register(wake, selectors.EVENT_READ, None)
        try:
            while not until():
                for key, _ in self._selector.select(TICK):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.data is not None:
                        self._read(key.data)
        finally:
            if wake is not None:
                self._selector.unregister(wake)
            self._calls.end_step()

    def close(self) -> None:
        """Hang up on everybody and remove the socket. Idempotent."""
        for line in list(self._lines):
            self._hang_up(line)
        self._selector.close()
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(SEND_SECONDS)
        line = _Line(connection)
        self._lines.append(line)
        self._selector.register(connection, selectors.EVENT_READ, line)

    def _read(self, line: _Line) -> None:
        try:
            data = line.connection.recv(READ_BYTES)
        except OSError:
            data = b""
        line.waiting += data
        if not data or len(line.waiting) > LARGEST_REQUEST:
            self._hang_up(line)
            return
        *requests, rest = line.waiting.split(b"\n") if b"\n" in data else [line.waiting]
        line.waiting = bytearray(rest)
        for request in requests:
            if not self._reply(line, self._answer(line, bytes(request))):
                return

    def _answer(self, line: _Line, request: bytes) -> list[Any]:
        """Return `["ok", result]`, `["error", words]` or `["budget", [axis, scope]]`."""
        try:
            method, params = json.loads(request)
            if method == "open":
                return self._open(line, **params)
            if not line.is_open:
                return ["error", "the first request must open the door with its token"]
            return ["ok", self._calls.call(method, params, caller=line)]
        except BudgetExhausted as spent:
            self.refused_at = self.refused_at or time.monotonic()
            return ["budget", [spent.axis, spent.scope]]
        except (ValueError, TypeError, KeyError, TraceBenchError) as err:
            return ["error", f"{type(err).__name__}: {err}"]

    def _open(self, line: _Line, *, token: str, protocol: int) -> list[Any]:
        if protocol != PROTOCOL:
            return ["error", f"this door speaks protocol {PROTOCOL}, not {protocol}: use the client that comes with it"]
        line.is_open = hmac.compare_digest(token.encode(), self._token.encode())
        return ["ok", self._calls.describe()] if line.is_open else ["error", "this token is not this job's"]

    def _reply(self, line: _Line, answer: list[Any]) -> bool:
        try:
            text = json.dumps(answer, separators=(",", ":"), allow_nan=False, default=_plain)
        except (TypeError, ValueError) as err:
            text = json.dumps(["error", f"the answer is not JSON: {err}"])
        try:
            line.connection.sendall(text.encode() + b"\n")
        except OSError:
            self._hang_up(line)
            return False
        return True

    def _hang_up(self, line: _Line) -> None:
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


def _plain(value: Any) -> Any:
    """Turn arrays into lists; what has no JSON form is named by its type."""
    return value.tolist() if hasattr(value, "tolist") else {"not_json": type(value).__qualname__}
