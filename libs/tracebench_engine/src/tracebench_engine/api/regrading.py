"""Score what a run had found again, under the judge that is installed now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracebench_core.errors import NothingSelectedError, UsageError, quoted
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import JobResult, JobSpec
from tracebench_core.specs.regrade import Regrade as Regrade
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.regrading import regrade_jobs
from tracebench_engine.run.rundir import reopen_run_dir, stored_plan
from tracebench_runs.reading.reader import Run, load_run
from tracebench_runs.results.regrades import append_regrades, regraded as regraded
from tracebench_runs.storage.disk import disk_errors_explained
from tracebench_runs.storage.lock import RunLock


def regrade(run_dir: Path, *, tasks: Sequence[str] = ()) -> Iterator[Regrade]:
    """Score the finalists of a run's jobs again, of some tasks or of all, add what came of it to the run, and yield each once it is kept.

    The scores of the run's own judge stay as they are. Analysis takes those of one judge for all jobs of a task.

    Raises:
        RunDirError: when the folder is no run, or another process works on it.
        UsageError: when the run has no such task.
        NothingSelectedError: when no job of it has a score.
    """
    layout, config, root, _ = reopen_run_dir(run_dir)
    host = open_host(root=root, plugins=config.plugins)
    with disk_errors_explained(layout), RunLock(layout):
        jobs = to_regrade(load_run(run_dir), tasks)
        yield from append_regrades(layout, regrade_jobs(jobs, stored_plan(layout, config, host), host, layout))


def to_regrade(run: Run, tasks: Sequence[str] = ()) -> list[JobSpec]:
    """Return the jobs that are scored again, of some tasks or of all.

    Raises:
        RunDirError: when a job's events are not whole.
        UsageError: when the run has no such task.
        NothingSelectedError: when no job of it has a score.
    """
    known = list(dict.fromkeys(job.task_id for job in run.planned))
    for name in tasks:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(
                f"Run `{run.run_id}` has no task `{name}`.{near}", hint=f"--task {known[0]}" if known else ""
            )
    chosen = [job for job in run.planned if not tasks or job.task_id in tasks]
    scored = [job for job in chosen if _has_score(run.results[job.job_id])]
    if not scored:
        raise NothingSelectedError(
            f"No job of `{run.run_id}` has a score.", hint=f"trace-bench resume {quoted(run.layout.path)}"
        )
    for job in scored:
        run.demand_events(job.job_id)
    return scored


def _has_score(result: JobResult) -> bool:
    """Tell whether a job has a score; one whose candidate was given may have none but that of test."""
    return result.score_val_best is not None or result.score_test is not None
