"""Signals that end a run in order, as Ctrl-C does."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

log = logging.getLogger(__name__)


@contextmanager
def terminated_is_interrupted() -> Iterator[None]:
    """While jobs run, let SIGTERM and a closed terminal end the run as Ctrl-C does; outside the main thread nothing changes.

    A signal that was ignored when the run began stays ignored: that is what `nohup` and `&` in a script ask for.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        log.warning("Ctrl-C is ignored here; to stop the run: kill %d", os.getpid())

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, interrupt) for s in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
