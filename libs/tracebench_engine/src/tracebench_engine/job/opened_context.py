"""Open what a job reaches the outside through, from its order: models, sandbox, observers of its events."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracebench_core.contracts import JobLogger
from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import JobOrder, JobSpec, TaskSpec
from tracebench_core.specs.events import Event
from tracebench_engine.job.job import JobContext
from tracebench_engine.measure.context import NoEnvironments
from tracebench_engine.measure.models import Models, NoModels
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import JobLayout

if TYPE_CHECKING:
    from tracebench_engine.measure.environments.client import JobEnvironments

log = logging.getLogger(__name__)


@contextmanager
def open_context(order: JobOrder, host: PluginHost, writer: EventWriter, *, last_call: int = 0) -> Iterator[JobContext]:
    """Yield a job's context and close it again; model calls up to `last_call` are in its log already."""
    layout = writer.layout
    spec = host.task(order.job.task_id)
    sandbox = job_sandbox(
        order.sandbox, address=order.sandbox_address, preload=spec.sandbox or (), readable=spec.readable
    )
    observers = Observers(order.job, host, layout)

    def write(event: Event) -> None:
        if observers.watch:
            observers(writer.write(event))
        else:
            writer.append(event)

    recorder = Recorder(write, suite=order.job.suite, last_call=last_call, judge=order.judge)
    environments = _environments(order, spec, recorder)
    try:
        yield JobContext(
            host=host,
            models=_models(order),
            recorder=recorder,
            sandbox=sandbox,
            workdir=layout.path / "work",
            artifacts=layout.artifacts,
            environments=environments or NoEnvironments(),
        )
    finally:
        if environments is not None:
            environments.close()
        sandbox.close()
        observers.close()


class Observers:
    """The job's logger and the plugins that watch events: told after an event is written, and unable to hurt the job."""

    def __init__(self, job: JobSpec, host: PluginHost, layout: JobLayout) -> None:
        self._job = job
        self._host = host if host.has_observers("tracebench_event") else None
        self._logger: JobLogger | None = None
        if job.logger is not None:
            try:
                build = load_ref(host.component("logger", job.logger).loader, owner=job.logger)
                self._logger = build(layout.path, **job.logger_kwargs)
            except (TraceBenchError, TypeError, ValueError, OSError) as err:
                log.warning("logger %s is off: %s", job.logger, err)

    @property
    def watch(self) -> bool:
        """Whether anybody does."""
        return self._logger is not None or self._host is not None

    def __call__(self, event: Event) -> None:
        if self._logger is not None:
            try:
                self._logger(event)
            except Exception as err:  # noqa: BLE001 - a sink must not hurt what it watches
                log.warning("logger %s is off from event %d on: %s", self._job.logger, event.seq, err)
                self._logger = None
        if self._host is not None:
            self._host.observe("tracebench_event", job=self._job, event=event)

    def close(self) -> None:
        """Let the logger write what it holds."""
        if self._logger is not None:
            self._logger.close()


def _environments(order: JobOrder, spec: TaskSpec, recorder: Recorder) -> JobEnvironments | None:
    names = (*spec.environments, *filter(None, [spec.dataset]))
    if order.environments is None or not names:
        return None
    from tracebench_engine.measure.environments.client import JobEnvironments  # noqa: PLC0415 - few tasks name any

    return JobEnvironments(
        order.environments,
        names=names,
        job_id=order.job.job_id,
        seed=order.job.seed,
        recorder=recorder,
    )


def _models(order: JobOrder) -> Models:
    if order.access is None:
        return NoModels()
    from tracebench_gateway.access import JobAccess  # noqa: PLC0415 - jobs without a model skip it
    from tracebench_gateway.client import GatewayClient  # noqa: PLC0415

    return GatewayClient(JobAccess.model_validate(order.access), is_fresh=order.phase == "train")
