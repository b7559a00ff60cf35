"""One job's training, from its first event to the point where the engine's own scoring begins, in whatever process it is called."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tracebench_core.contracts import NotMeasured, Optimizer, Problem, Trainer
from tracebench_core.errors import (
    BudgetExhausted,
    MissingRequirementError,
    NoModelAnswered,
    NotApplicableError,
    NothingMeasured,
    RecordingLeft,
    TraceBenchError,
    TrainingStopped,
    UsageError,
)
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import (
    PUBLIC,
    Axis,
    Candidate,
    ExampleResult,
    JobOrder,
    JobSpec,
    JobStatus,
    OptimizerSpec,
    TaskSpec,
    TrainerSpec,
)
from tracebench_engine.door.confining import confinement_of
from tracebench_engine.job.budget import Meter
from tracebench_engine.job.problem import MeteredProblem
from tracebench_engine.job.setup import Setup
from tracebench_engine.measure.attempt import describe_error
from tracebench_engine.measure.building import (
    ALL_SPLITS,
    TRAINING_SPLITS,
    OpenTask,
    build_optimizer,
    build_trainer,
    build_wrapped,
    load_aggregate,
    open_task,
)
from tracebench_engine.measure.context import Environments, NoEnvironments, Shared
from tracebench_engine.measure.measurement_cache import open_measurement_cache
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.scored_before import open_scored_before
from tracebench_engine.measure.service import EvaluationService
from tracebench_gateway.access import Refusal, Scope
from tracebench_runs.events.ranking import Aggregate
from tracebench_sandbox.client import SandboxClient

TRACEBACK_CHARACTERS = 20_000
FEW_PROPOSALS = 4
"""Of fewer it is no wonder when most are lost."""


class JobStopped(BaseException):
    """The job is asked to end from outside. Its log ends here; whoever asked has it scored or run again."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a job reaches the outside through."""

    host: PluginHost
    models: Models
    recorder: Recorder
    sandbox: SandboxClient
    workdir: Path
    artifacts: Path
    """Folder of the job under which suites keep what they want kept."""
    environments: Environments = field(default_factory=NoEnvironments)

    def aggregate(self, spec: TaskSpec) -> Aggregate:
        """Return how a task makes one score of many."""
        return load_aggregate(self.host, spec)


@dataclass(frozen=True, slots=True)
class JobWorkshop:
    """Builds proposers and wrapped trainers for one job."""

    job: JobSpec
    host: PluginHost

    def optimizer(self, problem: Problem, name: str | None, kwargs: Mapping[str, Any]) -> Optimizer:
        """Build the proposer that the config names, or `name`."""
        chosen = name or self.job.optimizer
        if chosen is None:
            raise UsageError(
                f"Trainer `{self.job.trainer_id}` asks for an optimizer, and neither it nor the config names one."
            )
        return build_optimizer(self.host, problem, name=chosen, kwargs={**kwargs, **self.job.optimizer_kwargs})

    def trainer(self, name: str, settings: Mapping[str, Any]) -> Trainer:
        """Build a trainer to be wrapped."""
        return build_wrapped(self.host, name, settings)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a training ended."""

    status: JobStatus
    reason: str
    spent: Refusal | None = None
    """The cap that ended it."""


def train_job(order: JobOrder, context: JobContext) -> bool:
    """Open the task and train; return whether there is something to score. A job without ends here, with `job_finished`."""
    job, recorder = order.job, context.recorder

    def cut_off(refusal: Refusal) -> None:
        _record_end_of_budget(job, refusal, recorder=recorder, meter=meter)
        os.kill(os.getpid(), signal.SIGKILL)  # what was found is scored by another process

    meter = Meter(job.budget, shared=order.limits, models=context.models, on_deaf=cut_off)
    problems: list[MeteredProblem] = []
    trainer = context.host.component("trainer", job.trainer_id)
    recorder.started(
        job,
        versions=_versions(order),
        task=context.host.task(job.task_id),
        calibration=order.calibration,
        reads_budget=isinstance(trainer, TrainerSpec) and trainer.reads_budget,
    )
    if job.salt == PUBLIC:
        recorder.flag("public-instances", "anybody can compute the instances of validation and test")
    end = Ending("skipped", f"not measured: {order.refusal}")
    if not order.refusal:
        end = _end_of_training(order, context, meter=meter, opened_problem=problems.append)
    meter.stop()
    for problem in problems:
        problem.settle()
    cut = end.spent is not None
    if end.spent is not None:
        _record_end_of_budget(job, end.spent, recorder=recorder, meter=meter)
        measured = any(problem.taken > problem.unmeasured for problem in problems)
        end = Ending(*end_of_budget(end.spent.axis, end.spent.scope, measured=measured))
    context.models.end_training()
    recorder.calls(context.models)
    if end.status == "ok" and (why := _unsound(order, context, problems, cut=cut)):
        recorder.error(*why, traceback="", fatal=True)
        end = Ending("failed", "error")
    goes_on = any(_worth_scoring(end.status, problem) for problem in problems)
    tell = recorder.trained if goes_on else recorder.finished
    tell(end.status, end.reason, used=meter.used(), seconds=meter.elapsed())
    return goes_on


def _end_of_training(
    order: JobOrder, context: JobContext, *, meter: Meter, opened_problem: Callable[[MeteredProblem], None]
) -> Ending:
    """Train, and return what came of it; only a request to stop from outside gets through."""
    try:
        _train(order, context, meter=meter, opened_problem=opened_problem)
    except BudgetExhausted as err:
        return Ending("ok", "", Refusal(err.axis, err.scope))  # type: ignore[arg-type]  # the error takes any axis by name
    except JobStopped:
        raise
    except TrainingStopped as err:
        context.recorder.error(type(err).__name__, str(err), traceback="", fatal=True)
        return Ending("failed", "error")
    except MissingRequirementError as err:
        return Ending("skipped", f"requirement: {err} {err.hint}".strip())
    except NotApplicableError as err:
        return Ending("skipped", f"not applicable: {err}")
    except BaseException as err:  # noqa: BLE001 - whatever a trainer raises, SystemExit included, is the job's outcome
        spent = meter.refusal()  # a foreign client's own exception at a refused call is the end of a budget, too
        record_error(context.recorder, err, fatal=spent is None)
        return Ending("failed", "error", spent)
    return Ending("ok", "completed", meter.refusal())


def _train(
    order: JobOrder, context: JobContext, *, meter: Meter, opened_problem: Callable[[MeteredProblem], None]
) -> None:
    job = order.job
    opened = open_job_task(order, context.host, context.environments)
    try:
        initial = Candidate(id="c0", values={p.name: p.initial for p in opened.task.parameters})
        service = open_service(order, context, opened, initial=initial, meter=meter)
        try:
            problem = MeteredProblem(opened.task, _setup(order, context, meter=meter, opened=opened, service=service))
            opened_problem(problem)
            trainer = build_trainer(context.host, job.trainer_id, job.settings)
            meter.opened()
            trainer.train(problem)
        finally:
            service.close()
            if service.broken is not None:
                raise service.broken
    finally:
        opened.close()


def open_job_task(order: JobOrder, host: PluginHost, environments: Environments) -> OpenTask:
    """Open a job's task with the job's own options and guide; for training, without its test split."""
    job = order.job
    return open_task(
        host,
        job.task_id,
        eval_kwargs=job.eval_kwargs,
        guide=job.guide,
        guide_kwargs=job.guide_kwargs,
        splits=TRAINING_SPLITS if order.phase == "train" else ALL_SPLITS,
        salts=order.salts,
        environments=environments,
    )


def open_service(
    order: JobOrder, context: JobContext, opened: OpenTask, *, initial: Candidate, meter: Meter | None = None
) -> EvaluationService:
    """Return what measures this job's candidates; `meter` ends training on time, and is None when the engine scores."""
    recorder = context.recorder

    def control(candidate: Candidate, result: ExampleResult) -> None:
        recorder.evaluation(candidate.id, result, by="engine")

    shared = Shared(
        models=context.models,
        sandbox=context.sandbox,
        workdir=context.workdir,
        artifacts=context.artifacts / order.job.suite,
        environments=context.environments,
        activity=recorder.activity,
        record=recorder.suite_record,
    )
    return EvaluationService(
        opened.task,
        opened.guide,
        shared,
        spec=opened.spec,
        initial=initial,
        seed=order.job.seed,
        workers=order.eval_workers,
        retries=order.evaluation_retries,
        before=meter.check_time if meter is not None else None,
        check=meter.check if meter is not None else None,
        on_control=control,
        reuse=open_measurement_cache(order) if opened.spec.deterministic and meter is not None else None,
        before_this=open_scored_before(order, opened.spec) if meter is None else None,
    )


def record_error(recorder: Recorder, err: BaseException, *, fatal: bool) -> None:
    """Record an exception: an expected one by its sentence and hint, any other with its traceback."""
    message = f"{err} ({err.hint})" if isinstance(err, TraceBenchError) and err.hint else str(err)
    trace = "".join(traceback.format_exception(err))[-TRACEBACK_CHARACTERS:]
    recorder.error(type(err).__name__, message or describe_error(err), traceback=trace, fatal=fatal)


def end_of_budget(axis: Axis, scope: Scope, *, measured: bool) -> tuple[JobStatus, str]:
    """Return status and reason of a job that a cap ended: what it found is scored, whosever the cap is.

    One that the run's cap ended before it had measured anything is to be run again.
    """
    if scope == "job":
        return "ok", f"budget:{axis}"
    return ("ok" if measured else "cancelled"), f"run budget:{axis}"


def _record_end_of_budget(job: JobSpec, spent: Refusal, *, recorder: Recorder, meter: Meter) -> None:
    cap = getattr(job.budget, spent.axis) if spent.scope == "job" else None
    recorder.budget(spent.axis, scope=spent.scope, cap=cap, used=meter.used())


def _unsound(
    order: JobOrder, context: JobContext, problems: Sequence[MeteredProblem], *, cut: bool
) -> tuple[str, str] | None:
    """Return type and words of what keeps a job that ended by itself, or by a cap, from being `ok`; flag what is only remarkable."""
    for problem in problems:
        if problem.taken and problem.unmeasured / problem.taken > order.fail_on_error:
            lost = f"{problem.unmeasured} of {problem.taken} evaluations could not be measured"
            name = NothingMeasured if problem.unmeasured == problem.taken else NotMeasured
            return name.__name__, f"{lost}, the last because of: {problem.last_reason}"
        if problem.taken > problem.unmeasured and not problem.scored:
            return (
                "NothingScored",
                f"none of {problem.taken} evaluations earned a score, the last: {problem.last_failure}",
            )
        if words := problem.mishaps.verdict():
            return "TaskRaised", words
    missed = next((calls for calls in context.recorder.answers.values() if calls.missed and calls.answered), None)
    if missed is not None:
        return RecordingLeft.__name__, missed.last_failure
    calls = context.recorder.answers["optimizer"]
    asks = _asks_a_model(order.job, context.host)
    may_miss = int(cut)  # a call may have been under way when the cap cut it off
    if asks and calls.failed > may_miss and not calls.answered:
        return (
            NoModelAnswered.__name__,
            f"none of {calls.failed} model calls was answered, the last because of: {calls.last_failure}",
        )
    if asks and not calls.answered:
        context.recorder.flag("no-model-calls", "the trainer uses a model and asked none")
    proposed = context.recorder.proposed
    if proposed["asked"] >= FEW_PROPOSALS and proposed["usable"] * 2 < proposed["asked"]:
        context.recorder.flag("proposals-lost", f"{proposed['usable']} of {proposed['asked']} proposals could be used")
    return None


def _asks_a_model(job: JobSpec, host: PluginHost) -> bool:
    """Tell whether a job's trainer asks a model for proposals, itself or by its proposer."""
    spec = host.component("trainer", job.trainer_id)
    proposer = host.component("optimizer", job.optimizer) if job.optimizer is not None else None
    if isinstance(proposer, OptimizerSpec) and proposer.calls_per_proposal == 0:
        return False
    return isinstance(spec, TrainerSpec) and spec.uses_model


def _worth_scoring(status: JobStatus, problem: MeteredProblem) -> bool:
    """A failed job is scored only if it had found anything."""
    return status == "ok" or (status == "failed" and problem.best.id != "c0")


def _setup(
    order: JobOrder, context: JobContext, *, meter: Meter, opened: OpenTask, service: EvaluationService
) -> Setup:
    job = order.job
    return Setup(
        seed=job.seed,
        meter=meter,
        models=context.models,
        recorder=context.recorder,
        service=service,
        workshop=JobWorkshop(job, context.host),
        confinement=confinement_of(order, context.recorder.caged),
        objectives=opened.spec.objectives,
        worst_score=opened.spec.worst_score,
        aggregate=context.aggregate(opened.spec),
        content=opened.spec.content,
        start=job.start,
    )


def _versions(order: JobOrder) -> dict[str, JsonValue]:
    job = order.job
    held = {"isolation": order.isolation} if order.isolation else {}
    return {"task": job.task_version.model_dump(), "plugin": job.plugin_version, **held}
