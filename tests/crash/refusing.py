"""Has a process refuse to die: `python -m tests.crash.refusing` keeps SIGTERM, SIGINT and SIGHUP from it, until it is gone.

It traces the process (ptrace(2)), as a debugger would, so that any process of a run can be made to refuse at any moment, whatever it
does with signals itself. It reads pids, one a line, and answers each: `gone`, `may not`, or `refusing`, once nothing reaches the process
but SIGKILL. It traces the first that it can.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from pathlib import Path

REFUSED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
READY, GONE, MAY_NOT = b"refusing\n", b"gone\n", b"may not\n"
SEIZE, CONTINUE, LISTEN = 0x4206, 7, 0x4208
TRACE_CLONE = 0x8
"""Threads that begin later are traced as well."""
EVENT_STOP = 128
WALL = 0x40000000
STOPS = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def seize(pid: int) -> None:
    """Trace every thread of a process.

    Raises:
        OSError: when it is gone, or may not be traced.
    """
    traced: set[int] = set()
    while new := {int(task.name) for task in Path(f"/proc/{pid}/task").glob("*")} - traced:
        for thread in new:
            if _ptrace(SEIZE, thread, None, TRACE_CLONE) == -1 and not traced and thread == pid:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        traced |= new
    if not traced:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


def is_alive(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def refuse() -> None:
    """Pass every signal on but those that are refused, until all that is traced has ended."""
    while True:
        try:
            thread, status = os.waitpid(-1, WALL)
        except ChildProcessError:
            return
        if not os.WIFSTOPPED(status):
            continue
        number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_STOP and number in STOPS:
            _ptrace(LISTEN, thread, None, None)
        else:
            _ptrace(CONTINUE, thread, None, None if event or number in REFUSED else number)


def main() -> int:
    """Trace the first process that is named and there."""
    for number in REFUSED:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C goes to whoever shares the terminal
    for line in sys.stdin:
        try:
            seize(int(line))
        except ProcessLookupError:
            os.write(1, GONE)
        except OSError:
            os.write(1, MAY_NOT if is_alive(int(line)) else GONE)  # who is just ending may not be traced either
        else:
            os.write(1, READY)
            refuse()
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
