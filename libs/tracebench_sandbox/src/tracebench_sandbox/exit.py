"""How a process ends that does not let the interpreter take its memory apart, object by object."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn

MOST_TOOLS = 6
"""Of `sys.monitoring`, whose identifiers are 0 to 5 (PEP 669)."""


def code_of(err: SystemExit) -> int:
    """Return the exit code that an exception asks for, and print the text that it may carry instead of one."""
    if err.code is None or isinstance(err.code, int):
        return err.code or 0
    sys.stderr.write(f"{err.code}\n")
    return 1


def is_watched() -> bool:
    """Tell whether a profiler, a debugger or a coverage tool runs in this process; from Python 3.12 on they may use `sys.monitoring`."""
    monitoring = getattr(sys, "monitoring", None)
    tools = () if monitoring is None else map(monitoring.get_tool, range(MOST_TOOLS))
    return sys.getprofile() is not None or sys.gettrace() is not None or any(tools)


def leave(code: int) -> NoReturn:
    """Do what an interpreter does at its end (wait for threads, run exit functions, flush), and be gone."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other name for it
        atexit._run_exitfuncs()  # noqa: SLF001
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
    finally:
        os._exit(code)
