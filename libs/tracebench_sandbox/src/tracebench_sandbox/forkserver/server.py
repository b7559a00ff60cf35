"""The server: a process with one thread that has imported what helpers need, and forks one for each request.

A request is read by the fork and not by the server, which therefore knows nothing of any run. The fork forks once more and ends, so that
the helper becomes the child of the process that asked: the nearest one above that adopts orphans.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tracebench_sandbox.exit import code_of, leave

_ARG_START, _ARG_END = 45, 46
"""Fields of /proc/self/stat behind the name, counted from 0 (proc(5): 48 and 49 from 1)."""


def set_title(argv: Sequence[str]) -> None:
    """Write a command line over that of this process, as far as the place reaches. Nothing depends on it but the eye."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        if 0 < start < end:
            text = b"\0".join(arg.encode(errors="surrogateescape") for arg in argv)[: end - start - 1]
            ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


MOST_DESCRIPTORS = 32
STANDARD = (0, 1, 2)
SERVER = "trace-bench: starts helpers"
_replaced: list[object] = []
"""Standard streams of the server: collecting them would close the helper's."""


def serve(requests: socket.socket, modules: Iterable[str]) -> NoReturn:
    """Import modules and prepare what they offer to; then fork a helper per request until nobody can ask any more. Never returns."""
    installed = _installed()
    for name in modules:
        prepare = getattr(importlib.import_module(name), "prepare", None)
        if prepare is not None:
            prepare()
    set_title([SERVER])
    gc.collect()
    gc.freeze()
    code = 0
    with suppress(ConnectionResetError):
        while code == 0 and requests.recv(1, socket.MSG_PEEK):
            middle = os.fork()
            if middle == 0:
                _fork_helper(requests, installed)
            code = os.waitstatus_to_exitcode(os.waitpid(middle, 0)[1])
    os._exit(code)


def _installed() -> list[str]:
    """Return the module path without the folder of the program and what a variable adds: each helper has its own."""
    given = set(added_to_path(os.environ))
    return [entry for entry in sys.path[0 if sys.flags.safe_path else 1 :] if entry not in given]


def added_to_path(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that `PYTHONPATH` names."""
    return [str(Path(entry).absolute()) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _fork_helper(requests: socket.socket, installed: list[str]) -> NoReturn:
    code = 1
    try:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, MOST_DESCRIPTORS)
        between = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == between:  # it ends at once, and then whoever asked is the parent
            time.sleep(0.0001)
        requests.send(os.getpid().to_bytes(4, "big"))
        requests.close()
        with os.fdopen(descriptors[0], "rb") as file:
            order = json.load(file)
        _become(order, descriptors[1:], installed)
        code = 0
    except SystemExit as err:
        code = code_of(err)
    except BaseException:  # noqa: BLE001 - a forked process must end here, whatever happens
        sys.excepthook(*sys.exc_info())
    leave(code)


def _become(order: dict[str, Any], descriptors: list[int], installed: list[str]) -> None:
    """Turn this process into what a fresh interpreter with the same order would be, and run the helper."""
    _take(descriptors, order["numbers"])
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        heard = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in order["ignored"] else heard)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.path[:] = [*added_to_path(os.environ), *installed]
    importlib.invalidate_caches()
    sys.argv = order["argv"]
    sys.orig_argv = [sys.executable, "-P", "-m", order["entry"], *sys.argv[1:]]
    set_title(sys.orig_argv)
    _replaced.extend([sys.stdin, sys.stdout, sys.stderr])
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, "r", closefd=False),
        os.fdopen(1, "w", closefd=False),
        os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False),
    )
    importlib.import_module(order["entry"]).main()


def _take(descriptors: list[int], numbers: list[int]) -> None:
    """Give descriptors the numbers that they have where they come from."""
    import fcntl  # noqa: PLC0415 - part of the interpreter, here alone

    spare = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(numbers) + 1) for fd in descriptors]
    for fd in descriptors:
        os.close(fd)
    for fd, number in zip(spare, numbers, strict=True):
        os.dup2(fd, number, inheritable=number in STANDARD)
        os.close(fd)


def main() -> None:
    """Serve on the descriptor that is the first argument, with the modules that follow."""
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])


if __name__ == "__main__":
    main()
