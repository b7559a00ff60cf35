"""Start a run that outlives its terminal: a process in a session of its own, with its log in the run directory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from tracebench_core.errors import RunDirError, quoted
from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from tracebench_engine.api.rundirs.control import RunEntry

OURS = frozenset({"--detach", "--json"})
LOOK_SECONDS = 0.02


def run_detached(arguments: Sequence[str], *, runs_dir: Path, as_json: bool) -> NoReturn:
    """Start `arguments` as a process of its own, say where its run is once it is under way, and exit.

    A run that ends before it is under way (its config is wrong, or nothing is left to do) is told as if it had not been detached.
    """
    log = _new_log(runs_dir)
    with log.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "tracebench_engine.cli", *(a for a in arguments if a not in OURS)],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    entry = _wait(process)
    if entry is None:
        sys.stderr.write(log.read_text(errors="replace"))
        log.unlink()
        raise typer.Exit(process.returncode)
    kept = Path(entry.run_dir) / "run.log"
    log.replace(kept)
    _tell(entry, kept, as_json=as_json)
    raise typer.Exit


def _wait(process: subprocess.Popen[bytes]) -> RunEntry | None:
    from tracebench_engine.api.rundirs.control import entries

    while process.poll() is None:
        found = next((entry for entry in entries() if entry.pid == process.pid), None)
        if found is not None:
            return found
        time.sleep(LOOK_SECONDS)
    return None


def _new_log(runs_dir: Path) -> Path:
    """Return a name beside the runs, so that the log can be moved into its run while it is written."""
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise RunDirError(
            f"`{runs_dir}` cannot be made: {err.strerror}.", hint="trace-bench run --runs-dir DIR"
        ) from err
    return runs_dir / f".starting-{time.time_ns()}.log"


def _tell(entry: RunEntry, log: Path, *, as_json: bool) -> None:
    if as_json:
        output.document("detached", run_id=entry.run_id, run_dir=entry.run_dir, pid=entry.pid, log=str(log))
        return
    output.line(f"Run started: {entry.run_id}")
    output.line(f"Run dir: {entry.run_dir}")
    output.line(f"Process: {entry.pid}")
    output.line(f"Log: {log}")
    output.note(f"Watch:   trace-bench watch {quoted(entry.run_dir)}")
    output.note(f"Cancel:  trace-bench cancel {quoted(entry.run_dir)} --reason …")
