"""Run directories with chosen scores, written by the store's own writers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.unit.store.samples import job_spec

from tracebench_core.ids import content_hash
from tracebench_core.specs import Budget, BudgetState, JobResult, JobStatus, ModelIdentity, TaskVersion, Usage
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.reading.reader import Run, load_run
from tracebench_runs.results.results import write_result
from tracebench_runs.storage.layout import RunLayout

Score = Callable[[str, str, int], float | None]
"""Of a trainer on a task with a seed."""


def make_run(
    folder: Path,
    score: Score,
    *,
    trainers: Sequence[str] = ("A", "B"),
    tasks: Sequence[str] = ("s:x", "s:y"),
    seeds: Sequence[int] = range(5),
    statuses: Mapping[tuple[str, str, int], JobStatus] | None = None,
    initial: float | None = 0.0,
    model: str = "m",
    budget: Budget | None = None,
    used: Mapping[str, int] | None = None,
    usd: float | None = 0.01,
    head: Mapping[str, Any] | None = None,
    comparability: int = 1,
    salt: str | None = None,
    entry: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    isolation: str = "",
    planned: Callable[[str, str], Mapping[str, Any]] = lambda trainer, task: {},
    ended: Callable[[str, str, int], Mapping[str, Any]] = lambda trainer, task, seed: {},
) -> Run:
    """Write a run. A score of None is a job without one; status `not_run` leaves the job's result out.

    `entry` goes over what the manifest says of each task, `data` is what each job found in its splits, `isolation` how
    its candidates were held, `planned` goes over what is planned of a trainer's jobs on a task, and `ended` over a job's result.
    """
    layout = RunLayout(folder).create()
    jobs, identity = [], ModelIdentity(provider="p", model=model)
    for task in tasks:
        for trainer in trainers:
            for seed in seeds:
                job_id = content_hash(f"{folder.name} {task} {trainer} {seed}".encode())[:12]
                fields = {
                    "job_id": job_id,
                    "task_id": task,
                    "trainer_id": trainer,
                    "seed": seed,
                    "models": {"optimizer": identity},
                    "budget": budget or Budget(),
                    "task_version": TaskVersion(comparability=comparability),
                }
                job = job_spec(**(fields | dict(planned(trainer, task))))
                jobs.append(job)
                status = (statuses or {}).get((trainer, task, seed), "ok")
                if status == "not_run":
                    continue
                value = score(trainer, task, seed)
                layout.job(job_id).path.mkdir(parents=True)
                amount = (used or {}).get(trainer, 10)
                result: dict[str, Any] = {
                    "job_id": job_id,
                    "task_id": task,
                    "suite": "s",
                    "trainer_id": job.trainer_id,
                    "seed": seed,
                    "mode": "stub",
                    "status": status,
                    "stop_reason": "completed",
                    "score_val_initial": initial,
                    "score_val_best": value,
                    "score_test_initial": initial,
                    "score_test": value,
                    "usage": {"optimizer": Usage(usd=usd)},
                    "used": BudgetState(evaluations=amount, usd=usd),
                    "budget": job.budget,
                    "data": dict(data or {}),
                    "versions": {"isolation": isolation} if isolation else {},
                }
                result |= ended(trainer, task, seed)
                write_result(layout.job(job_id), JobResult(**result), durable=False)
    fixed = {"comparability": comparability, "interface": 1, "source": "", "salt": salt, **(entry or {})}
    tasks_head = dict.fromkeys(tasks, fixed)
    write_manifest(layout, {"tasks": tasks_head, **(head or {})}, jobs, durable=False)
    return load_run(folder)
