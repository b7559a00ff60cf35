"""Whether two mathematical expressions are equal, by math-verify, in a process that may be ended: what is compared was written by a model.

The process is started by the first comparison and serves all later ones of this one, one at a time. Run as a program, this module is it.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
from functools import lru_cache

from tracebench_core.errors import MissingRequirementError

SECONDS = 10.0
"""One comparison; what takes longer is not equal."""
MEMORY = 2 << 30
LONGEST = 1_000
"""Characters of an expression that is compared."""
READY = b"ready\n"
HINT = 'pip install "tracebench-hfqa[math]"'


class Checker:
    """The process, and who may talk to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def equal(self, gold: str, answer: str) -> bool:
        """Tell whether two expressions are equal; no when it cannot be told in time, or when the process dies of them twice.

        Raises:
            MissingRequirementError: when math-verify is not installed.
        """
        with self._lock:
            told = self._told(gold, answer)
            return (told if told is not None else self._told(gold, answer)) == b"1\n"

    def _told(self, gold: str, answer: str) -> bytes | None:
        """Return what the process says; nothing where that is nothing in time, None when it dies, of whatever cause."""
        process = self._open()
        assert process.stdin is not None  # noqa: S101 - a pipe
        try:
            process.stdin.write(json.dumps([gold, answer]).encode() + b"\n")
            process.stdin.flush()
            told = self._line(process, SECONDS)
        except BrokenPipeError:
            told = None
        if told not in {b"1\n", b"0\n"}:
            self.close()
        return told

    def close(self) -> None:
        """End the process. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _open(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._line(self._process, 6 * SECONDS) != READY:
                self.close()
                raise MissingRequirementError("Answers of mathematics are compared by `math-verify`.", hint=HINT)
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
        """Return the next line of the process; nothing when there is none in time, None when there is no process any more."""
        assert process.stdout is not None  # noqa: S101 - a pipe
        found = b""
        while not found.endswith(b"\n"):
            if not select.select([process.stdout], [], [], seconds)[0]:
                return b""
            got = os.read(process.stdout.fileno(), 64)
            if not got:
                return None
            found += got
        return found


_CHECKERS: dict[int, Checker] = {}


@lru_cache(maxsize=4096)
def equal(gold: str, answer: str) -> bool:
    """Tell whether two expressions in LaTeX are equal."""
    if not gold.strip() or not answer.strip() or max(len(gold), len(answer)) > LONGEST:
        return False
    own = _CHECKERS.get(os.getpid())  # a fork takes no part in its parent's conversation
    if own is None:
        own = _CHECKERS.setdefault(os.getpid(), Checker())
        atexit.register(own.close)
    return own.equal(gold, answer)


def main() -> None:
    """Compare what comes in as lines of JSON, `[gold, answer]`, and answer each with a line, `1` or `0`."""
    import resource  # noqa: PLC0415 - of the program alone

    from math_verify import LatexExtractionConfig, parse, verify  # noqa: PLC0415 - heavy, and only this process needs it

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    told = [LatexExtractionConfig()]  # the other kind evaluates text as Python

    def read(text: str) -> object:
        return parse(f"${text}$", extraction_config=told, parsing_timeout=None, fallback_mode="no_fallback")

    out = sys.stdout.buffer
    out.write(READY)
    out.flush()
    for line in sys.stdin:
        gold, answer = json.loads(line)
        try:
            same = bool(verify(read(gold), read(answer), timeout_seconds=None))
        except Exception:  # noqa: BLE001 - what cannot be read is not equal
            same = False
        out.write(b"1\n" if same else b"0\n")
        out.flush()


if __name__ == "__main__":
    main()
