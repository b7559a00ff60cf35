"""The server as an environment: the run starts one on loopback, and all its jobs are judged one after the other."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import Any

from tracebench_core.contracts import EnvironmentContext
from tracebench_core.errors import ProgramError

_PATIENCE = 10.0


class ServerEnvironment:
    """Opens `trace-bench kernelbench serve` on a free port; its handle is `{"address": …}`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def open(self, context: EnvironmentContext) -> dict[str, Any]:
        """Start it and wait for its address.

        Raises:
            ProgramError: when it ends at once.
        """
        argv = [sys.executable, "-P", "-m", "tracebench_kernelbench.command", "serve", "--port", "0"]
        with (context.workdir / "stderr.txt").open("w") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=context.workdir
            )
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        words = self._process.stdout.readline().split()
        if not words:
            said = (context.workdir / "stderr.txt").read_text(errors="replace").strip()
            raise ProgramError(f"The KernelBench server did not start: {said[-500:]}")
        return {"address": words[-1]}

    def close(self) -> None:
        """End it, and its workers with it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
