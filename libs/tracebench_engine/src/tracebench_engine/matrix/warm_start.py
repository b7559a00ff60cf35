"""Where a job begins that goes on from another one: the candidates that a finished job found, read from its run."""

from __future__ import annotations

from pathlib import Path

from tracebench_core.errors import ConfigError, RunDirError, quoted
from tracebench_core.specs import InitialFrom, JobResult, JobSpec, Start
from tracebench_runs.reading.reader import Run, load_run


def read_start(source: InitialFrom, *, task_id: str, runs_dir: str, where: str) -> Start:
    """Return the candidates that a job of `task_id` begins from, the best first.

    Raises:
        ConfigError: saying which run, job or candidate is missing, or that the job is of another task.
    """
    run = _open(source.run, runs_dir=runs_dir, where=where)
    job = _job_of(run, source.job, task_id=task_id, where=where)
    result = run.results[job.job_id]
    taken = _taken(result, source, run=run, where=where)
    values = {c.id: c.values for c in run.candidates_of(job.job_id) if c.id in taken}
    return Start(run=run.run_id, job=job.job_id, candidates=taken, values=tuple(values[id_] for id_ in taken))


def _open(name: str, *, runs_dir: str, where: str) -> Run:
    folder = next((f for f in (Path(name), Path(runs_dir) / name) if f.is_dir()), None)
    if folder is None:
        raise ConfigError(f"{where}.run: there is no run `{name}`, here or in `{runs_dir}`.", hint="trace-bench runs")
    try:
        return load_run(folder)
    except RunDirError as err:
        raise ConfigError(f"{where}.run: {err}", hint=err.hint or f"trace-bench fsck {quoted(folder)}") from err


def _job_of(run: Run, prefix: str | None, *, task_id: str, where: str) -> JobSpec:
    hint = f"trace-bench show {quoted(run.layout.path)}"
    found = [job for job in run.planned if job.job_id.startswith(prefix or "")]
    if prefix is not None and not found:
        raise ConfigError(f"{where}.job: run `{run.run_id}` has no job `{prefix}`.", hint=hint)
    own = [job for job in found if job.task_id == task_id]
    if not own:
        tasks = ", ".join(sorted({f"`{job.task_id}`" for job in found}))
        what = f"job `{found[0].job_id}`" if prefix is not None else f"run `{run.run_id}`"
        raise ConfigError(f"{where}: {what} optimised {tasks or 'nothing'}, not `{task_id}`.", hint=hint)
    if len(own) > 1:
        some = ", ".join(f"`{job.job_id}` ({job.trainer_id}, seed {job.seed})" for job in own[:6])
        raise ConfigError(f"{where}.job: several jobs of run `{run.run_id}` fit: {some}; name one.", hint=hint)
    return own[0]


def _taken(result: JobResult, source: InitialFrom, *, run: Run, where: str) -> tuple[str, ...]:
    """Return the ids of the candidates to take, the best first."""
    if result.best_candidate is None:
        raise ConfigError(
            f"{where}: job `{result.job_id}` has no best candidate, it is `{result.status}`.",
            hint=f"trace-bench resume {quoted(run.layout.path)}"
            if result.status == "not_run"
            else f"trace-bench show {quoted(run.layout.path)}",
        )
    best = result.best_candidate
    if source.take == "best":
        return (best,)
    if not result.front:
        raise ConfigError(
            f"{where}.take: job `{result.job_id}` has no front, for its task has one objective; take its best.",
            hint=f"trace-bench show {quoted(run.layout.path)}",
        )
    ids = [point.candidate for point in result.front]
    return tuple(sorted(ids, key=lambda id_: id_ != best))
