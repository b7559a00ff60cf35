"""A library's own program beside a job that its trainer did: on what was recorded, without a model, and what each of the two takes."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tracebench_core.specs import JobSpec, TrainerSpec
from tracebench_core.specs.events import TrainingEnded
from tracebench_core.specs.run import TaskEntry, TrainerEntry
from tracebench_engine.api.running import run
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.twins.beside import Beside as Beside, run_beside, twin_of
from tracebench_engine.checks.twins.told import read_told
from tracebench_engine.measure.building import TRAINING_SPLITS, open_task
from tracebench_engine.run.replay import Replay, replay_of
from tracebench_engine.run.rundir import reopen_run_dir, stored_plan
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.reading.reader import load_run


class Again(NamedTuple):
    """A job once more by Trace-Bench, from its recording and alone."""

    seconds: float | None
    """Of its training; None where it did not come to its end."""
    cpu_seconds: float | None
    """Of its whole run: with the start of the command's helpers and the engine's own scoring."""


def jobs_with_twins(run_dir: Path) -> Iterator[JobSpec]:
    """Yield the jobs of a run whose trainers name a twin."""
    _, config, root, _ = reopen_run_dir(run_dir)
    host = open_host(root=root, plugins=config.plugins)
    for job in load_run(run_dir).planned:
        spec = host.component("trainer", job.trainer_id)
        if isinstance(spec, TrainerSpec) and spec.twin is not None:
            yield job


def verify_twin(run_dir: Path, job_id: str) -> Beside:
    """Run the twin of a job's trainer on what the job was answered, and compare.

    Raises:
        RunDirError: when the job has not trained to its end, or what it was answered is not recorded or damaged.
        NotApplicableError: when its trainer has no twin, or none for this job.
        MissingRequirementError: when the library is not installed.
        ProgramError: when the twin failed.
    """
    layout, config, root, _ = reopen_run_dir(run_dir)
    host = open_host(root=root, plugins=config.plugins)
    found = load_run(run_dir)
    job = found.job(job_id)
    told = read_told(found, job)
    salts = stored_plan(layout, config, host).salts
    opened = open_task(
        host,
        job.task_id,
        eval_kwargs=job.eval_kwargs,
        guide=job.guide,
        guide_kwargs=job.guide_kwargs,
        splits=TRAINING_SPLITS,
        salts=salts.by_split if salts is not None and job.salt is not None else {},
    )
    try:
        twin = twin_of(host, job, opened.task.parameters)
        return run_beside(job, told, twin, opened, workers=config.eval_workers)
    finally:
        opened.close()


def repeat_job(run_dir: Path, job_id: str) -> Again:
    """Run one job again, in a folder that is removed, and return what it took: from the recording, unless it asked no model."""
    ran = load_run(run_dir)
    job = ran.job(job_id)
    asked = ran.results[job_id].usage
    whole = replay_of(run_dir) if asked else _without_recording(run_dir)
    with tempfile.TemporaryDirectory(prefix="again-", ignore_cleanup_errors=True) as folder:
        summary = run(_alone(whole, job, folder).config, root=whole.root, stream=io.StringIO())
        found = load_run(summary.run_dir)
        ((again, _),) = found.results.items()
        events = read_events(found.layout.job(again)).events
        seconds = next((e.seconds for e in events if isinstance(e, TrainingEnded)), None)
        told = json.loads(found.layout.summary.read_text(encoding="utf-8"))
        return Again(seconds, told.get("cpu_seconds"))


def _without_recording(run_dir: Path) -> Replay:
    _, config, root, _ = reopen_run_dir(run_dir)
    return Replay(config.model_copy(update={"run_id": None, "resume": "auto"}), 1, root)


def _alone(whole: Replay, job: JobSpec, folder: str) -> Replay:
    trainer = TrainerEntry(
        id=job.trainer_id,
        params_variants=(job.params,),
        optimizer=job.optimizer,
        optimizer_kwargs=job.optimizer_kwargs,
        guide=job.guide,
        guide_kwargs=job.guide_kwargs,
    )
    variants = tuple(v for v in whole.config.llm_variants if v.name == job.llm_variant)
    task = TaskEntry(id=job.task_id, eval_kwargs=job.eval_kwargs)
    changes = {
        "tasks": (task,),
        "trainers": (trainer,),
        "seeds": (job.seed,),
        "llm_variants": variants,
        "runs_dir": folder,
    }
    return whole._replace(config=whole.config.model_copy(update=changes))
