"""One job from its first event to its result, in whatever process it is called."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tracebench_core.engine.evaluate import describe_error
from tracebench_core.engine.meter import Meter
from tracebench_core.engine.models import Models
from tracebench_core.engine.opening import OpenTask, build_optimizer, build_trainer, open_task
from tracebench_core.engine.problem import MeteredProblem, Setup
from tracebench_core.engine.recorder import Recorder
from tracebench_core.engine.scoring import Scorer
from tracebench_core.errors import (
    BudgetExhausted,
    MissingRequirementError,
    NotApplicableError,
    TraceBenchError,
    UsageError,
)
from tracebench_core.llm.access import Refusal
from tracebench_core.plugins import PluginHost
from tracebench_core.protocols import Optimizer, Problem, Sandbox
from tracebench_core.specs import Candidate, JobOrder, JobSpec, JobStatus

TRACEBACK_CHARACTERS = 20_000


class JobStopped(BaseException):
    """The job is asked to end from outside. Its log ends here; whoever asked has it finished or run again."""


@dataclass(frozen=True, slots=True)
class Doors:
    """What a job reaches the outside through."""

    host: PluginHost
    models: Models
    recorder: Recorder
    sandbox: Sandbox
    workdir: Path


def train_job(order: JobOrder, doors: Doors) -> None:
    """Open the task, train, score what was found, and record all of it; every outcome ends in `job_finished`."""
    job = order.job

    def cut_off(refusal: Refusal) -> None:
        _end_of_budget(job, refusal, doors=doors, meter=meter)
        os.kill(os.getpid(), signal.SIGKILL)  # a finishing process scores what was found

    meter = Meter(job.budget, shared=order.limits, models=doors.models, on_deaf=cut_off)
    status: JobStatus = "failed"
    reason = "error"
    opened: OpenTask | None = None
    problem: MeteredProblem | None = None
    spent: Refusal | None = None
    spec = doors.host.task(job.task_id)
    doors.recorder.started(job, versions=_versions(order), objectives=spec.objectives)
    try:
        opened = open_job_task(job, doors.host)
        problem = MeteredProblem(opened.task, _setup(order, doors, meter=meter, opened=opened))
        trainer = build_trainer(doors.host, job.trainer_id, job.settings)
        meter.restart()
        doors.models.start_clock()
        trainer.train(problem)
        status, reason = "ok", "completed"
        spent = meter.refusal()
    except BudgetExhausted as err:
        spent = Refusal(err.axis, err.scope)  # type: ignore[arg-type]  # the error takes any axis by name
    except JobStopped:
        raise
    except MissingRequirementError as err:
        status, reason = "skipped", f"requirement: {err} {err.hint}".strip()
    except NotApplicableError as err:
        status, reason = "skipped", f"not applicable: {err}"
    except BaseException as err:  # noqa: BLE001 - whatever a trainer raises, SystemExit included, is the job's outcome
        spent = meter.refusal()  # a foreign client's own exception at a refused call is the end of a budget, too
        record_error(doors.recorder, err, fatal=spent is None)
    meter.stop()
    if spent is not None:
        status, reason = _end_of_budget(job, spent, doors=doors, meter=meter)
    doors.models.end_training()
    doors.recorder.calls(doors.models)
    if opened is not None and problem is not None and _worth_scoring(status, problem):
        _score(job, doors, opened=opened, problem=problem)
    doors.recorder.finished(status, reason, used=meter.used(), seconds=meter.seconds())


def open_job_task(job: JobSpec, host: PluginHost) -> OpenTask:
    """Open a job's task with the job's own options and guide."""
    return open_task(host, job.task_id, eval_kwargs=job.eval_kwargs, guide=job.guide, guide_kwargs=job.guide_kwargs)


def build_scorer(job: JobSpec, doors: Doors, opened: OpenTask) -> Scorer:
    """Return what measures the found candidates after training."""
    return Scorer(
        task=opened.task,
        guide=opened.guide,
        test=opened.test,
        seed=job.seed,
        sandbox=doors.sandbox,
        workdir=doors.workdir,
        models=doors.models,
        recorder=doors.recorder,
        failure_score=opened.spec.failure_score,
    )


def record_error(recorder: Recorder, err: BaseException, *, fatal: bool) -> None:
    """Record an exception: an expected one by its sentence and hint, any other with its traceback."""
    message = f"{err} ({err.hint})" if isinstance(err, TraceBenchError) and err.hint else str(err)
    trace = "".join(traceback.format_exception(err))[-TRACEBACK_CHARACTERS:]
    recorder.error(type(err).__name__, message or describe_error(err), traceback=trace, fatal=fatal)


def _end_of_budget(job: JobSpec, spent: Refusal, *, doors: Doors, meter: Meter) -> tuple[JobStatus, str]:
    """Record the cap that was reached; the job's own ends it well, the run's cuts it short."""
    cap = getattr(job.budget, spent.axis) if spent.scope == "job" else None
    doors.recorder.budget(spent.axis, scope=spent.scope, cap=cap, used=meter.used())
    return ("ok", f"budget:{spent.axis}") if spent.scope == "job" else ("cancelled", f"run budget:{spent.axis}")


def _worth_scoring(status: JobStatus, problem: MeteredProblem) -> bool:
    """A failed job is scored only if it had found anything."""
    return status == "ok" or (status == "failed" and problem.best.id != "c0")


def _score(job: JobSpec, doors: Doors, *, opened: OpenTask, problem: MeteredProblem) -> None:
    initial = Candidate(id="c0", values=problem.initial)
    try:
        build_scorer(job, doors, opened).score(initial=initial, best=problem.best, final=problem.last)
    except Exception as err:  # noqa: BLE001 - training is done and kept; a score that cannot be had is a missing score
        record_error(doors.recorder, err, fatal=False)


def _setup(order: JobOrder, doors: Doors, *, meter: Meter, opened: OpenTask) -> Setup:
    return Setup(
        seed=order.job.seed,
        meter=meter,
        models=doors.models,
        recorder=doors.recorder,
        sandbox=doors.sandbox,
        workdir=doors.workdir,
        guide=opened.guide,
        objectives=opened.spec.objectives,
        failure_score=opened.spec.failure_score,
        workers=1 if opened.spec.traced else order.eval_workers,
        build_optimizer=partial(_optimizer_for, order.job, doors.host),
    )


def _optimizer_for(
    job: JobSpec, host: PluginHost, problem: Problem, name: str | None, kwargs: Mapping[str, Any]
) -> Optimizer:
    chosen = name or job.optimizer
    if chosen is None:
        raise UsageError(f"Trainer `{job.trainer_id}` asks for an optimizer, and neither it nor the config names one.")
    return build_optimizer(host, problem, name=chosen, kwargs={**kwargs, **job.optimizer_kwargs})


def _versions(order: JobOrder) -> dict[str, JsonValue]:
    job = order.job
    held = {"isolation": order.isolation} if order.isolation else {}
    return {"task": job.task_version.model_dump(), "plugin": job.plugin_version, **held}
