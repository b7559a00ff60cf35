"""Where the command begins: until its imports are done, Ctrl-C ends it with a line that says that nothing was begun."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def program() -> None:
    """Import the command line, which takes a while, and run it."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, _leave)
    from tracebench_engine.cli.app import program as command

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


def _leave(_number: int, _frame: object) -> None:
    """End at once, whatever is being imported."""
    os.write(2, b"interrupted: nothing was begun\n")
    os._exit(INTERRUPTED)
