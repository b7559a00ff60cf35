"""One command in a folder of its own, outside of the sandbox: for experiments that need a graphics processor or the network.

It sees the host's files and network, and no process but its own. All that it started ends with it, at the deadline, or with the job.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

from tracebench_autoresearch.evaluation.box import OUTPUT_BYTES, Ran, filled, variables
from tracebench_autoresearch.evaluation.graphics import Graphics
from tracebench_autoresearch.experiment import Command
from tracebench_autoresearch.sources.snapshot import Snapshot, write_files
from tracebench_engine.api.programs import APART, passed, scratch_folder

_LOOK_SECONDS = 0.5


def run_outside(
    command: Command,
    files: Snapshot,
    *,
    stdin: str,
    seed: int,
    seconds: float,
    check: Callable[[], None],
    python: Path | None = None,
    graphics: Graphics = Graphics(),  # noqa: B008 - immutable
) -> Ran:
    """Run a command on `files`; `check` is asked twice a second and raises to end it. The folder is gone when it returns."""
    with scratch_folder("experiment") as scratch:
        folder = scratch.resolve() / "files"
        folder.mkdir()
        write_files(files, folder)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as given:
            given.write(stdin.encode(errors="replace"))
            given.seek(0)
            environ = passed(os.environ)
            environ |= variables(command, seed, python, path=environ.get("PATH", "")) | dict(graphics.environ)
            began = time.monotonic()
            process = subprocess.Popen(  # noqa: S603 - the experiment's own, which asks for this
                [*APART, *filled(command, seed, python)],
                cwd=folder, env=environ, stdin=given, stdout=out, stderr=errors, start_new_session=True,
            )  # fmt: skip
            try:
                end = _wait(process, began + seconds, check)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            took = time.monotonic() - began
            code = process.returncode if end == "ended" else None
            return Ran(end, code, _tail(out), _tail(errors), _outputs(command, folder), took)


def _wait(process: subprocess.Popen[bytes], deadline: float, check: Callable[[], None]) -> Literal["ended", "late"]:
    while (left := deadline - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(left, _LOOK_SECONDS))
            return "ended"
        check()
    return "late"


def _tail(log: IO[bytes]) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - OUTPUT_BYTES))
    return log.read().decode(errors="replace")


def _outputs(command: Command, folder: Path) -> dict[str, bytes]:
    """Return the files that were asked for and are plain ones; no link is followed."""
    places = {name: folder / name for name in command.outputs}
    return {
        name: place.read_bytes()
        for name, place in places.items()
        if place.resolve() == place and place.is_file() and place.stat().st_size <= OUTPUT_BYTES
    }
