"""Holds a run for as long as its server lives: `python -m tracebench_open.operator.leash COMMAND…`, a pipe of the server's as input.

The server writes a line before it leaves in peace, and the run goes on under its own cap. A pipe that ends without one is a server that was
killed: the run is told to end, as by Ctrl-C, so that jobs under way stop and the ledger tells what was spent.
What does not listen is killed.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence

RELEASED = b"goes on\n"
GRACE = 45.0
"""Seconds that a run may take to end."""
STEP = 0.2


def hold(argv: Sequence[str], *, pipe: int) -> int:
    """Start a command as the leader of a group, and return its exit code; a group whose server was killed is ended."""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 - this program
    heard = b""
    while process.poll() is None:
        if heard != RELEASED and select.select([pipe], [], [], STEP)[0]:
            told = os.read(pipe, len(RELEASED))
            heard += told
            if not told:
                return _end(process)
        elif heard == RELEASED:
            return process.wait()
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        return process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


if __name__ == "__main__":
    sys.exit(hold(sys.argv[1:], pipe=sys.stdin.fileno()))
