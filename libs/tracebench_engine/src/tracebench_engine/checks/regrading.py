"""Score what jobs had found again, under the judge that is installed now: the same finalists, the same rule, the same inputs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile

from tracebench_core.errors import BudgetExhausted, RunDirError, TraceBenchError, TrainingStopped
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_core.specs import JobOrder, JobSpec, TaskSpec
from tracebench_core.specs.events import DataKnown, Event, Flagged, LLMCall, Scored
from tracebench_core.specs.regrade import Regrade
from tracebench_engine.checks.calibration.machine import judge_of
from tracebench_engine.job.finish import JobSoFar, measure_job
from tracebench_engine.job.job import JobContext
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.measure.building import load_aggregate
from tracebench_engine.measure.models import NoModels
from tracebench_engine.measure.recorded import Recorded
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import RunLayout
from tracebench_sandbox import temporary

log = logging.getLogger(__name__)


def regrade_jobs(jobs: Iterable[JobSpec], plan: Plan, host: PluginHost, layout: RunLayout) -> Iterator[Regrade]:
    """Yield a scoring of each job's stored candidates, as soon as it is there; one that cannot be had says why."""
    for job in jobs:
        spec = host.task(job.task_id)
        scored, flags, error = _scored_again(job, spec, plan, host, layout)
        yield Regrade(
            t=datetime.now(UTC),
            job_id=job.job_id,
            task_id=job.task_id,
            comparability=spec.version.comparability,
            judge=judge_of(host, job.task_id, spec),
            scored=scored,
            flags=flags,
            error=error,
        )


def why_not(spec: TaskSpec) -> str:
    """Return why the candidates of a task cannot be scored again here; nothing where they can."""
    if reason := Catalog.availability(spec):
        return reason
    if spec.environments:
        named = ", ".join(f"`{name}`" for name in spec.environments)
        return f"it is measured in environments ({named}), whose state at the time is not kept: only a new run can measure it"
    return ""


def _scored_again(
    job: JobSpec, spec: TaskSpec, plan: Plan, host: PluginHost, layout: RunLayout
) -> tuple[tuple[Scored, ...], dict[str, str], str]:
    if reason := why_not(spec):
        return (), {}, reason
    events: list[Event] = []
    recorder = Recorder(events.append, suite=job.suite, judge=judge_of(host, job.task_id, spec))
    salts = plan.salts.by_split if plan.salts is not None and job.salt is not None else {}
    order = JobOrder(
        job=job,
        run_dir=str(layout.path.resolve()),
        phase="score",
        salts=dict(salts),
        eval_workers=plan.config.eval_workers,
        sandbox=plan.config.sandbox,
        plugins=plan.config.plugins,
        evaluation_retries=plan.config.evaluation_retries,
    )
    own = layout.job(job.job_id)
    known = read_events(own).events
    models: NoModels = NoModels()
    if spec.uses_model:
        try:
            models = Recorded(layout.path, job.job_id, [e for e in known if isinstance(e, LLMCall)], plan.config.llm)
        except RunDirError as err:
            return (), {}, f"it asks a model, whose answers are needed: {err}"
    sandbox = job_sandbox(plan.config.sandbox, address=None, preload=spec.sandbox or (), readable=spec.readable)
    trained = takewhile(lambda e: not isinstance(e, Scored | DataKnown), known)
    so_far = JobSoFar(trained, find=lambda _name: load_aggregate(host, spec))
    with temporary.scratch_folder() as folder:
        context = JobContext(
            host=host,
            models=models,
            recorder=recorder,
            sandbox=sandbox,
            workdir=folder / "work",
            artifacts=folder / "artifacts",
        )
        error = ""
        try:
            measure_job(order, context, so_far, BlobStore(own.blobs))
        except (TraceBenchError, BudgetExhausted, TrainingStopped) as err:
            error = str(err)
        except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever a suite raises is why this job has no second score
            error = f"{type(err).__name__}: {err}"
        finally:
            sandbox.close()
    if isinstance(models, Recorded) and models.missed:
        error = models.missed
    if error:
        return (), {}, error
    flags = {event.name: event.reason for event in events if isinstance(event, Flagged)}
    return tuple(event for event in events if isinstance(event, Scored)), flags, ""
