"""Cuts off an import that hangs, so that one plugin cannot keep every command from answering."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracebench_core.errors import PluginError

VARIABLE = "TRACEBENCH_IMPORT_SECONDS"
SECONDS = 60.0
"""How long one plugin's import may take, unless the variable says otherwise."""


@contextmanager
def import_timeout() -> Iterator[None]:
    """Raise PluginError in the body once it has taken too long; does nothing outside of the main thread, where no signal arrives."""
    seconds = _seconds()
    if threading.current_thread() is not threading.main_thread() or not 0 < seconds < threading.TIMEOUT_MAX:
        yield
        return

    def cut(_signal: int, _frame: Any) -> None:
        raise PluginError(f"its import was cut off after {seconds:g} s ({VARIABLE} sets the limit)")

    began = time.monotonic()
    earlier = signal.signal(signal.SIGALRM, cut)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001), interval)


def _seconds() -> float:
    try:
        return float(os.environ.get(VARIABLE, SECONDS))
    except ValueError:
        return SECONDS
