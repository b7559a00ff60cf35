"""Find runs under way, and speak to them: through their entries, and through the locks of run directories."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError, UsageError, quoted
from tracebench_core.ids import nearest
from tracebench_core.specs import WorkerState
from tracebench_engine.door.control_registry import RunEntry, entries, forget, read_entry
from tracebench_engine.run.control_channel import ask
from tracebench_runs.journal.trust import finished_jobs
from tracebench_runs.meta.planned import iter_jobs
from tracebench_runs.results.results import read_result
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import holder_of

LOOK = 0.05
"""Seconds between two looks at a run."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run under way."""

    run_id: str
    run_dir: str
    pid: int | None
    since: str
    """Empty where only its lock tells of it."""
    jobs: int
    done: int
    running: tuple[str, ...]
    state: str
    """`running`, `paused`, `cancelled: <reason>`, or `unreachable`: it runs and has no control channel here."""
    workers: tuple[WorkerState, ...] = ()
    """Those that it serves; none where its jobs run beside it."""


def live_runs(runs_dir: Path) -> list[LiveRun]:
    """Return the runs under way of this user, wherever they lie, and those of `runs_dir`; oldest first."""
    found = {run.run_dir: run for entry in entries() if (run := _by_entry(entry)) is not None}
    for lock in runs_dir.glob("*/.lock"):
        layout = RunLayout(lock.parent)
        if str(layout.path.resolve()) not in found and (pid := holder_of(layout)) is not None:
            run = _by_lock(layout, pid)
            found[run.run_dir] = run
    return sorted(found.values(), key=lambda run: (run.since, run.run_id))


def tell(run_dir: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Ask something of a run under way and return its answer.

    Raises:
        UsageError: when the run is not under way, cannot be reached, or refuses.
    """
    entry = read_entry(run_dir)
    try:
        if entry is None:
            raise FileNotFoundError
        answer = ask(entry.address, request)
    except (OSError, ValueError, TypeError) as err:
        if holder_of(RunLayout(run_dir)) is None:
            raise UsageError(f"Run `{run_dir.name}` is not under way.", hint="trace-bench ps") from err
        raise UsageError(
            f"Run `{run_dir.name}` is under way, and its control channel does not answer.",
            hint="start this command as the user and with the `XDG_RUNTIME_DIR` of the run",
        ) from err
    if not answer.get("ok"):
        raise UsageError(
            f"{answer.get('error', 'the run refused')}.", hint=shlex.join(["trace-bench", "show", str(run_dir)])
        )
    return answer


def await_end(run_dir: Path, job_id: str, answer: Mapping[str, Any], *, patience: float = 60.0) -> str:
    """Wait for a job that was running when a run answered, for so many seconds; return as what it ended, nothing where it has not.

    What was not running when it was cancelled is not started any more: `cancelled`.
    """
    if job_id not in answer["running"]:
        return "cancelled"
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            if job_id not in tell(run_dir, {"do": "status"})["running"]:
                break
        except UsageError:  # the run is over, and the job with it
            break
        time.sleep(LOOK)
    else:
        return ""
    job = RunLayout(run_dir).job(job_id)
    return read_result(job).result.status if job.results.exists() else ""


def workers_of(run_dir: Path) -> list[WorkerState]:
    """Return the workers of a run; none where it is not under way, or has none."""
    try:
        return [*map(WorkerState.model_validate, tell(run_dir, {"do": "status"}).get("workers", ()))]
    except (UsageError, ValueError):
        return []


def find_live_job(job_id: str) -> Path | None:
    """Return the run under way that plans this job, None when none does.

    Raises:
        UsageError: when several do.
    """
    runs = [Path(entry.run_dir) for entry in entries() if _plans(Path(entry.run_dir), job_id)]
    runs = [run for run in runs if holder_of(RunLayout(run)) is not None]
    if len(runs) > 1:
        raise UsageError(
            f"Job `{job_id}` is in {len(runs)} runs under way.",
            hint=f"trace-bench cancel {quoted(runs[0])}/jobs/{job_id} --reason …",
        )
    return runs[0] if runs else None


def nearest_live_run(name: str) -> str | None:
    """Return the id of the run under way that `name` was most likely meant to be, or None."""
    return nearest(name, [entry.run_id for entry in entries()])


def _by_entry(entry: RunEntry) -> LiveRun | None:
    try:
        told = ask(entry.address, {"do": "status"})
        workers = tuple(map(WorkerState.model_validate, told.get("workers", ())))
        told = {name: told.get(name) for name in LiveRun.__slots__}
        return LiveRun(**told | {"running": tuple(told["running"]), "workers": workers})
    except (OSError, ValueError, TypeError, KeyError):
        layout = RunLayout(Path(entry.run_dir))
        pid = holder_of(layout)
        if pid is None:
            forget(entry)
            return None
        return _by_lock(layout, pid)


def _by_lock(layout: RunLayout, pid: int) -> LiveRun:
    try:
        jobs = [job.job_id for job in iter_jobs(layout)]
    except RunDirError:  # its manifest is being written
        jobs = []
    done = finished_jobs(layout).keys() & set(jobs)
    return LiveRun(
        layout.run_id, str(layout.path.resolve()), pid, "", len(jobs), len(done), running=(), state="unreachable"
    )


def _plans(run_dir: Path, job_id: str) -> bool:
    try:
        return any(job.job_id == job_id for job in iter_jobs(RunLayout(run_dir)))
    except RunDirError:
        return False
