"""Keeps provider keys in this process: out of other processes' sight, and out of what libraries write to the log."""

from __future__ import annotations

import ctypes
import io
import sys
from collections.abc import Iterable
from typing import TextIO

from tracebench_gateway.credentials import redact

PR_SET_DUMPABLE = 4


def forbid_inspection() -> None:
    """Make `/proc/self` root's, and leave no core dump (Linux; elsewhere nothing is promised)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


class Redacting(io.TextIOBase):
    """A text stream that masks secret values; it writes whole lines, so that none is cut in two."""

    def __init__(self, stream: TextIO, secrets: Iterable[str]) -> None:
        self._stream = stream
        self._secrets = tuple(secrets)
        self._waiting = ""

    def write(self, text: str) -> int:
        """Take text; what is not yet a line waits."""
        *lines, self._waiting = (self._waiting + text).split("\n")
        if lines:
            self._stream.write(redact("\n".join([*lines, ""]), self._secrets))
            self._stream.flush()
        return len(text)

    def finish(self) -> None:
        """Write what waits."""
        self._stream.write(redact(self._waiting, self._secrets))
        self._stream.flush()
        self._waiting = ""

    def fileno(self) -> int:
        """Return the descriptor below, for libraries that ask whether it is a terminal."""
        return self._stream.fileno()


def redact_output(secrets: Iterable[str]) -> tuple[Redacting, Redacting]:
    """Let this process's standard streams mask `secrets`; returns them."""
    values = tuple(secrets)
    sys.stdout, sys.stderr = streams = Redacting(sys.stdout, values), Redacting(sys.stderr, values)
    return streams
