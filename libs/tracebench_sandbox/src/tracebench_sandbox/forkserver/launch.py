"""The side that asks: which server forks a helper, and when a fresh interpreter is the right thing."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO

from tracebench_core.forwarding import LIBRARIES
from tracebench_sandbox.forkserver.descriptors import lift_open_files
from tracebench_sandbox.forkserver.server import serve


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


OURS = tuple(f"{it}." for it in LIBRARIES)
"""Only modules of our own libraries are imported ahead: a plugin's may be edited between two runs of one program."""
AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "TZ", "TMPDIR")
"""How the names of variables begin that the interpreter, the loader and the C library read when a process starts."""
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
STANDING = (
    "Umask:",
    "Uid:",
    "Gid:",
    "Groups:",
    "CapEff:",
    "NoNewPrivs:",
    "Seccomp:",
    "Seccomp_filters:",
    "Cpus_allowed:",
)
"""Lines of proc(5) /proc/self/status."""
START_SECONDS = 60.0
"""Seconds that a server may take to its first answer: it imports what helpers need."""
ANSWER_SECONDS = 10.0
"""The same to any later one; behind a server that is held, a fresh interpreter is the quicker way."""
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 5.0
"""Seconds that a server may take to end."""
_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37
_libc = ctypes.CDLL(None, use_errno=True)

_lock = Lock()
_asked: set[str] = set()
_servers: dict[str, ForkServer] = {}
_owner = os.getpid()


class ForkServer:
    """A running server, and what it took over from this process when it started."""

    def __init__(self, process: HelperProcess, requests: socket.socket, standing: object) -> None:
        self._process = process
        self.requests = requests
        self.requests.settimeout(START_SECONDS)
        self.standing = standing

    @classmethod
    def started(cls, modules: Sequence[str], environ: Mapping[str, str], standing: object = None) -> ForkServer:
        """Start a fresh interpreter that imports `modules` and forks helpers from then on; it is told the variables alone that it reads."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "tracebench_sandbox.forkserver.server", str(theirs.fileno()), *modules],
            pass_fds=[theirs.fileno()],
            env=_read_at_start(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        return cls(process, ours, standing)

    def fork(self, order: Mapping[str, object], descriptors: Sequence[int]) -> int:
        """Return the pid of a new helper, a child of this process, which has `descriptors` under the order's `numbers`.

        Raises:
            OSError: when the server is gone.
        """
        with os.fdopen(os.memfd_create("order"), "wb") as file:
            file.write(json.dumps(order).encode())
            file.flush()
            file.seek(0)
            try:
                with _adopting():
                    socket.send_fds(self.requests, [b"x"], [file.fileno(), *descriptors])
                    answer = self.requests.recv(4)
                self.requests.settimeout(ANSWER_SECONDS)
            except BaseException:
                self._process.kill()  # else it could answer this request when the next one is asked
                raise
        if not answer:
            raise ConnectionError("the server of helpers has ended")
        return int.from_bytes(answer, "big")

    def close(self) -> None:
        """End the server; its helpers live on."""
        with suppress(OSError):  # it has ended already
            self.requests.shutdown(socket.SHUT_RDWR)  # a fork of this process may hold the socket, too
        self.requests.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def launch(
    entry: str,
    arguments: Sequence[str] = (),
    *,
    environ: Mapping[str, str],
    pass_fds: Sequence[int],
    output: IO[bytes],
    has_input: bool = False,
) -> HelperProcess:
    """Run `entry`'s `main()` in a new process and session, as `python -m entry` would.

    Args:
        environ: the helper's whole environment.
        pass_fds: descriptors that it has under the same numbers.
        output: where its output and errors go.
        has_input: whether its standard input is a pipe (`.stdin`) rather than empty.
    """
    with _lock:
        server = _server_for(entry, environ)
        if server is not None:
            with suppress(OSError):
                return _forked(
                    server, entry, arguments, environ=environ, pass_fds=pass_fds, output=output, has_input=has_input
                )
            _forget(entry)
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", entry, *arguments],
        pass_fds=pass_fds,
        env=dict(environ),
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def plant(*entries: str, ahead: Sequence[str]) -> None:
    """Fork a server of the helpers `entries` off this process; it imports `ahead`, while this process goes on.

    Call it before this process holds what a helper must not know. Where it has threads already, nothing happens: they cannot be forked.
    """
    if len([*Path("/proc/self/task").iterdir()]) > 1:
        return
    lift_open_files()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        kept = os.dup2(theirs.fileno(), 3, inheritable=False)
        theirs.detach()
        ours.detach()
        os.closerange(4, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        serve(socket.socket(fileno=kept), ahead)
    theirs.close()
    planted = ForkServer(ForkedProcess(pid), ours, None)
    _forget_others()
    for entry in entries:
        _servers[entry] = planted


def _server_for(entry: str, environ: Mapping[str, str]) -> ForkServer | None:
    """Return the server of an entry that is asked for once more; None where a fresh interpreter is as good."""
    _forget_others()
    server, standing = _servers.get(entry), _standing(environ)
    if server is not None and server.standing in (None, standing):
        return server
    if not entry.startswith(OURS):
        return None
    if server is not None:
        _forget(entry)
    elif entry not in _asked:
        _asked.add(entry)
        return None
    _servers[entry] = ForkServer.started([entry], environ, standing)
    return _servers[entry]


def _forked(
    server: ForkServer,
    entry: str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    pass_fds: Sequence[int],
    output: IO[bytes],
    has_input: bool,
) -> ForkedProcess:
    reader, writer = os.pipe() if has_input else (os.open(os.devnull, os.O_RDONLY), -1)
    try:
        order = {
            "entry": entry,
            "argv": [entry, *arguments],
            "environ": dict(environ),
            "folder": str(Path.cwd()),
            "ignored": [int(s) for s in HEARD if signal.getsignal(s) is signal.SIG_IGN],
            "numbers": [0, 1, 2, *pass_fds],
        }
        pid = server.fork(order, [reader, output.fileno(), output.fileno(), *pass_fds])
    except BaseException:
        if writer >= 0:
            os.close(writer)
        raise
    finally:
        os.close(reader)
    return ForkedProcess(pid, stdin=os.fdopen(writer, "wb") if writer >= 0 else None)


def _forget_others() -> None:
    """In a fork of the program that the servers belong to, know none of them."""
    global _owner  # noqa: PLW0603 - of this process
    if _owner != os.getpid():
        _servers.clear()
        _asked.clear()
        _owner = os.getpid()


def _forget(entry: str) -> None:
    server = _servers.pop(entry, None)
    if server is not None and server not in _servers.values():
        server.close()


def _read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(AT_START)}


def _standing(environ: Mapping[str, str]) -> object:
    """Return what a process takes over when it starts and no order tells: a helper has what holds for its owner now."""
    limits = [resource.getrlimit(kind) for kind in LIMITS]
    status = Path("/proc/self/status").read_text().splitlines()
    fields = [line for line in status if line.startswith(STANDING)]
    given = {name: value for name, value in _read_at_start(environ).items() if name != "PYTHONPATH"}
    return given, limits, fields, os.getpriority(os.PRIO_PROCESS, 0)


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the next parent of who loses their own, for a moment."""
    before = ctypes.c_int()
    _libc.prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _libc.prctl(_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


@atexit.register
def _close() -> None:
    if _owner == os.getpid():
        for entry in [*_servers]:
            _forget(entry)
