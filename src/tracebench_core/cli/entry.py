"""Where the command begins: until its imports are done, Ctrl-C ends it without a word, as any program that has not begun."""

from __future__ import annotations

import signal


def program() -> None:
    """Import the command line, which takes a while, and run it."""
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tracebench_core.cli.app import program as command

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()
