"""A process that works on the judge's device memory: the reference's, which is trusted, or a candidate's, of which nothing is believed.

It gets handles of one piece of memory and of two gates, and a socket on which it is asked, a line of JSON each. The piece begins with room
for inputs; all that the process makes lies in the rest, so that the judge can read outputs where they were made. Between its calls it is
stopped, with all that it started.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.device import Device, Gate, Memory
from tracebench_kernelbench.cuda.serving import Row
from tracebench_kernelbench.modules.memory import DTYPES

_Number = Annotated[int, Field(ge=0, le=1 << 48)]
_ROWS = TypeAdapter(
    Annotated[list[tuple[_Number, str, Annotated[list[_Number], Field(max_length=32)]]], Field(max_length=256)]
)
_MOST_BYTES = 1 << 20
_WORDS = 2500
_PASSED_ON = ("PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "LANG", "TMPDIR")
"""What of this process's environment a guest gets: no key and no token."""


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request ended; `rows` are what it told of arrays, checked to lie in its memory."""

    status: Literal["ok", "error", "timeout", "died"]
    words: str = ""
    rows: Sequence[Row] = ()
    plain: Sequence[Any] = ()


@dataclass
class Guest:
    """One process, opened by `open_guest`."""

    memory: Memory
    go: Gate
    done: Gate
    _process: subprocess.Popen[bytes]
    _link: socket.socket
    _folder: tempfile.TemporaryDirectory[str]
    rows: Sequence[Row] = ()
    """Its last outputs."""
    _read: bytearray = field(default_factory=bytearray)

    def ask(self, what: str, seconds: float, **more: Any) -> Reply:
        """Have it go on, ask, and stop it again once it has answered. A process that does not answer in time is ended."""
        self._send(signal.SIGCONT)
        reply = self._asked(json.dumps({"do": what, **more}).encode() + b"\n", seconds)
        if reply.status in {"timeout", "died"}:
            self.close()
        else:
            self._send(signal.SIGSTOP)
        return reply

    def close(self) -> None:
        """End it and all that it started."""
        self._send(signal.SIGSTOP)  # what is stopped starts nothing more
        self._send(signal.SIGKILL)
        self._process.wait()
        self._link.close()
        with suppress(OSError):
            self._folder.cleanup()

    def _send(self, number: signal.Signals) -> None:
        """Signal it and all that it started: it goes on before these do and stops after them, so that none is ever at work alone."""
        if self._process.returncode is None:
            first, last = (self._send_below, self._send_group)
            for send in (last, first) if number == signal.SIGCONT else (first, last, first):
                send(number)

    def _send_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _send_below(self, number: signal.Signals) -> None:
        for pid in below(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _asked(self, line: bytes, seconds: float) -> Reply:
        try:
            self._link.settimeout(seconds)
            self._link.sendall(line)
            answer = self._line(time.monotonic() + seconds)
        except TimeoutError:
            return Reply("timeout", f"It took longer than {seconds:g} s.")
        except OSError:
            answer = None
        if answer is None:
            return Reply("died", f"Its process ended. {self._tail()}".strip())
        return self._understood(answer)

    def _line(self, deadline: float) -> bytes | None:
        while b"\n" not in self._read:
            if len(self._read) > _MOST_BYTES:
                return None
            if (left := deadline - time.monotonic()) <= 0:  # one that sends a byte now and then would never be late
                raise TimeoutError
            self._link.settimeout(left)
            if not (part := self._link.recv(1 << 16)):
                return None
            self._read += part
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read[:] = rest
        return line

    def _understood(self, line: bytes) -> Reply:
        try:
            answer = json.loads(line)
            if error := answer.get("error"):
                return Reply("error", str(error)[-_WORDS:])
            rows = _ROWS.validate_python(answer.get("rows", []))
        except (ValueError, AttributeError, RecursionError):
            return Reply("error", "What it says of its outputs describes none.")
        for at, dtype, shape in rows:
            if dtype not in DTYPES:
                return Reply("error", f"an output is {dtype[:40]}, and no array of NumPy")
            if (
                at + prod(filter(None, shape)) * np.dtype(dtype).itemsize > self.memory.size
            ):  # an empty one's other sides, too
                return Reply("error", "an output lies outside of the memory that it was given")
        plain = answer.get("plain", [])
        return Reply("ok", rows=rows, plain=plain if isinstance(plain, list) else [])

    def _tail(self) -> str:
        try:
            return (Path(self._folder.name) / "stderr.txt").read_text(errors="replace")[-_WORDS:].strip()
        except OSError:
            return ""


def below(pid: int) -> Iterator[int]:
    """Yield the processes that a process started, and theirs, deepest last; a guest adopts those whose own parents have ended."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, listed.read_text().split()):
                yield child
                yield from below(child)


def size_of(row: Row) -> int:
    """Return the bytes of an array."""
    return prod(row[2]) * np.dtype(row[1]).itemsize


def open_guest(device: Device, argv: Sequence[str], *, size: int, inputs: int, environ: Mapping[str, str]) -> Guest:
    """Start a process and tell it what it gets: memory of `size` bytes, of which the first `inputs` are for inputs. It is stopped at first.

    Raises:
        NotMeasured: when it does not start.
    """
    memory = device.allocate(size)
    device.poison(memory, 0, size)
    if not device.settle(_STARTING):  # before the process puts anything there
        raise NotMeasured("The device does not come to an end with the judge's own work.")
    go, done = device.gate(), device.gate()
    folder = tempfile.TemporaryDirectory(prefix="kernelbench-")
    ours, theirs = socket.socketpair()
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with theirs, (Path(folder.name) / "stderr.txt").open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 - the judge's own program
            [*argv, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd=folder.name,
            env={**passed, "HOME": folder.name, **environ},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    guest = Guest(memory, go, done, process, ours, folder)
    told = {name: thing.handle.hex() for name, thing in (("memory", memory), ("go", go), ("done", done))}
    reply = guest.ask("open", _STARTING, **told, size=size, inputs=inputs)
    if reply.status != "ok":
        guest.close()
        raise NotMeasured(f"A process for kernels does not start: {reply.words}")
    return guest


_STARTING = 120.0
"""Seconds that a process may take to import what candidates need."""
