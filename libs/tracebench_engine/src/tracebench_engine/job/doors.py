"""Open what a job reaches the outside through, from its order: models, sandbox, observers of its events."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tracebench_core.contracts import JobLogger, Sandbox, Session
from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import JobOrder, JobSpec, Limits, Outcome, SandboxConfig, TaskSpec
from tracebench_core.specs.events import Event
from tracebench_engine.job.job import JobContext
from tracebench_engine.job.patient import PatientSandbox
from tracebench_engine.measure.context import NoEnvironments
from tracebench_engine.measure.models import Models, NoModels
from tracebench_engine.measure.recorder import Recorder
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import JobLayout

if TYPE_CHECKING:
    from tracebench_engine.measure.environments.client import JobEnvironments
    from tracebench_sandbox import LocalSandbox

log = logging.getLogger(__name__)


@contextmanager
def open_context(order: JobOrder, host: PluginHost, writer: EventWriter, *, last_call: int = 0) -> Iterator[JobContext]:
    """Yield a job's context and close it again; model calls up to `last_call` are in its log already."""
    layout = writer.layout
    spec = host.task(order.job.task_id)
    sandbox = LazySandbox(
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


class LazySandbox:
    """A `Sandbox` that starts, or is connected, when it is first used: many jobs never need one."""

    def __init__(
        self, config: SandboxConfig, *, address: str | None, preload: Sequence[str], readable: Sequence[str] = ()
    ) -> None:
        self._config = config
        self._readable = (*readable, *config.readable)
        self._address = address
        self._preload = preload
        self._sandbox: Sandbox | None = None
        self._owned: LocalSandbox | None = None

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """See `Sandbox`."""
        return self._open().call(code, entry, *args, limits=self._limits(limits), prelude=prelude)

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """See `Sandbox`."""
        return self._open().call_many(code, entry, inputs, limits=self._limits(limits), prelude=prelude)

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """See `Sandbox`."""
        return self._open().session(code, entry, limits=self._limits(limits), prelude=prelude)

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
    ) -> Outcome:
        """See `Sandbox`."""
        return self._open().command(argv, files=files, stdin=stdin, limits=self._limits(limits))

    def close(self) -> None:
        """End or disconnect the sandbox if it was used."""
        if self._owned is not None:
            self._owned.close()
        self._sandbox = self._owned = None

    def _limits(self, limits: Limits | None) -> Limits:
        return limits or Limits(memory_mb=self._config.memory_mb)

    def _open(self) -> Sandbox:
        if self._sandbox is None:
            from tracebench_sandbox import connect, open_sandbox  # noqa: PLC0415 - most jobs never need it
            from tracebench_sandbox.granted import granted_folders  # noqa: PLC0415

            if self._address is not None:
                self._sandbox = PatientSandbox(connect(self._address))
            else:
                self._sandbox = self._owned = open_sandbox(
                    preload=self._preload, require=self._config.require, readable=granted_folders(self._readable)
                )
        return self._sandbox


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
