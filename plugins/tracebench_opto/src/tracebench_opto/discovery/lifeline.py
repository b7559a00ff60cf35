"""A program of this package dies with the command that started it, however that ends, and takes with it what it started."""

from __future__ import annotations

import os
import signal

NAME = "TRACEBENCH_LIFELINE"
"""The descriptor of a pipe whose other end only the command holds: at its end, the command has ended."""


def hold() -> None:
    """Have this process's group killed when the command ends; nothing where no command started it.

    A process of its own watches the pipe, since a class under trial may keep every thread of this one from running. To be called before
    there are threads.
    """
    descriptor = os.environ.pop(NAME, None)
    if descriptor is None:
        return
    pipe = int(descriptor)
    if os.fork():
        os.close(pipe)
        return
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)
