"""How a process ends that does not let the interpreter take its memory apart, object by object."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn


def code_of(err: SystemExit) -> int:
    """Return the exit code that an exception asks for, and print the text that it may carry instead of one."""
    if err.code is None or isinstance(err.code, int):
        return err.code or 0
    sys.stderr.write(f"{err.code}\n")
    return 1


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
