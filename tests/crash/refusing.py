"""Has a process refuse to die: `python -m tests.crash.refusing PID` keeps SIGTERM, SIGINT and SIGHUP from it, until it is gone.

It traces the process (ptrace(2)), as a debugger would, so that any process of a run can be made to refuse at any moment, whatever it
does with signals itself. It prints a line once nothing reaches the process but SIGKILL, and exit code 3 says that it may not trace it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

REFUSED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
MAY_NOT = 3
READY = b"refusing\n"
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
    while new := {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()} - traced:
        for thread in new:
            if _ptrace(SEIZE, thread, None, TRACE_CLONE) == -1 and not traced and thread == pid:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        traced |= new


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
    """Trace the process that is named."""
    for number in REFUSED:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C goes to whoever shares the terminal
    try:
        seize(int(sys.argv[1]))
    except OSError:
        return MAY_NOT
    os.write(1, READY)
    refuse()
    return 0


if __name__ == "__main__":
    sys.exit(main())
