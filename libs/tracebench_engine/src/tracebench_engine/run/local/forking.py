"""Fork a process that does one thing, ends with its code, and dies with this one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from tracebench_engine.job import kernel

ASKED = (signal.SIGTERM, signal.SIGINT)
"""Requests to stop."""


def fork_child(run: Callable[[], int], *, close: Callable[[], None]) -> int:
    """Fork a process that ends with the code that `run` returns, and dies with this one; return its number."""
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKED)
    try:
        pid = os.fork()
        if pid == 0:
            _become(run, close, parent=parent)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKED)
    return pid


def _become(run: Callable[[], int], close: Callable[[], None], *, parent: int) -> NoReturn:
    code = 1
    try:
        for asked in ASKED:  # a request to stop ends this process, and no other of the template's, until it has its own
            signal.signal(asked, signal.SIG_DFL)
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKED)
        kernel.die_with_parent(parent)
        close()
        code = run()
    except BaseException:  # noqa: BLE001 - a forked process must end here, whatever happens
        sys.excepthook(*sys.exc_info())
    finally:
        flush()
        os._exit(code)


def flush() -> None:
    """Write out what was printed, as far as that can be done."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
