"""A job's process: its own folder, output and seeds; it trains, or it scores what was trained, and its exit code says how that ended.

An executor calls `run_order` in a process that does nothing else, and `ending` on its exit code.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from tracebench_core.contracts import JobLogger
from tracebench_core.errors import UNWRITABLE
from tracebench_core.ids import derive_seed
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import JobOrder, JobResult, JobSpec, TaskSpec
from tracebench_core.specs.events import Event
from tracebench_engine.job import kernel
from tracebench_engine.job.finish import JobSoFar, Reading, conclude_lost, score_job
from tracebench_engine.job.job import JobContext, JobStopped, train_job
from tracebench_engine.measure.building import load_aggregate
from tracebench_engine.measure.context import NoEnvironments
from tracebench_engine.measure.models import Models, NoModels
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_runs.events.eventlog import stream_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage import sharing
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_sandbox.exchange import signal_name

if TYPE_CHECKING:
    from tracebench_engine.measure.environments.client import JobEnvironments

NUMPY_SEED_LIMIT = 2**32


def seed_process(seed: int) -> None:
    """Seed the global generators of this process: `random`, and numpy's where it is imported already."""
    random.seed(derive_seed(seed, "process"))
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(derive_seed(seed, "numpy") % NUMPY_SEED_LIMIT)


STOPPED = 10
DISK_REFUSED = 11
DONE = 12
"""The job's result is written. Not 0: that is how a task's own `sys.exit` or `os._exit` ends, and leaves no result."""
TRAINED = 13
"""Training is over, and scoring follows in another process."""
TOO_LARGE = 15
"""As `DISK_REFUSED`, by a limit for the size of files (`ulimit -f`)."""
UNSCORED = 14
"""Scoring failed, and the job's log tells why; another process may try it."""
_SAID = {
    0: "the process ended with exit code 0 and without a result",
    STOPPED: "the process was told to end by SIGTERM",
    DISK_REFUSED: "its files cannot be written",
    TOO_LARGE: "its files grow beyond what `ulimit -f` allows",
    UNSCORED: "its scoring failed",
}
GARBAGE = 10_000
"""So many new objects before the youngest are looked through for garbage: a job keeps most of what it makes."""


def ending(code: int | None, *, asked: str = "") -> tuple[str, str]:
    """Return what a process's exit code (negative: the signal that ended it) says, in a word and in words.

    `asked` is why its executor had asked it to end: `timeout`, `cancelled`, or nothing. The word is `done`, `trained`, `asked`,
    `unwritable` (the disk refused the job's files: the run cannot go on) or `died`.
    """
    known = {DONE: "done", TRAINED: "trained"}.get(code or 0)
    return known or asked or ("unwritable" if code in {DISK_REFUSED, TOO_LARGE} else "died"), _describe(code)


def unwritable(order: JobOrder, detail: str) -> OSError:
    """Return the error to raise where an order's process ended `unwritable`, by the words that `ending` found for it."""
    number = errno.EFBIG if detail == _SAID[TOO_LARGE] else errno.EIO
    return OSError(number, detail, str(RunLayout(Path(order.run_dir)).job(order.job.job_id).path))


def run_order(order: JobOrder, host: PluginHost) -> int:
    """Run one order in this process, which is given up to it, and return the code with which the process is to end (`os._exit`).

    SIGTERM ends it within moments; after `order.grace` seconds whoever sent it kills. What the job has started is below this process,
    or below the next subreaper above it: an executor kills what is left.
    """
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    try:
        if order.phase == "train":
            layout.fresh()
        elif layout.results.exists() and host.has_observers("tracebench_run_job"):
            return DONE  # a plugin around the job had its result at hand
        _enter(layout)
        gc.set_threshold(GARBAGE)
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, _stop)
        if order.phase == "score":
            return DONE if score(order, host) else UNSCORED
        if host.has_observers("tracebench_run_job"):
            host.run_job(order.job, job_dir=layout.path, execute=lambda job: _train_wrapped(order, host, job))
        else:
            train(order, host)
    except JobStopped:
        return STOPPED
    except OSError as err:
        if err.errno not in UNWRITABLE:
            raise
        with suppress(OSError):
            sys.stderr.write(f"{err}\n")
        return TOO_LARGE if err.errno == errno.EFBIG else DISK_REFUSED
    return DONE if layout.results.exists() else TRAINED


def train(order: JobOrder, host: PluginHost) -> None:
    """Train. What comes of it is concluded elsewhere: a trainer may have had its hands on everything here."""
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    writer = EventWriter(layout)
    with open_context(order, host, writer) as context:
        seed_process(order.job.seed)
        train_job(order, context)
    _close(writer)


def score(order: JobOrder, host: PluginHost) -> bool:
    """Score what an earlier process of the job has found, and write the job's files; return whether that could be done."""
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    spec = host.task(order.job.task_id)
    reading = Reading(layout, order.job)
    so_far = JobSoFar(reading.events(), find=lambda _name: load_aggregate(host, spec))
    if so_far.is_forged:
        conclude_lost(layout.fresh(), order.job, detail="the process that trained wrote scores of test itself")
        return True
    writer = EventWriter(layout)
    with open_context(order, host, writer, last_call=so_far.last_call) as context:
        seed_process(order.job.seed)
        is_scored = score_job(order, context, so_far, writer.blobs)
    _close(writer)
    if is_scored:
        reading.write()
    return is_scored


def _close(writer: EventWriter) -> None:
    """Close a job's log; one with a hole is the disk's doing, and no outcome of the job, whoever caught the exception."""
    writer.close(durable=False)
    if writer.refused is not None:
        raise writer.refused


def _train_wrapped(order: JobOrder, host: PluginHost, job: JobSpec) -> JobResult:
    train(order.model_copy(update={"job": job}), host)
    return reduce_job(stream_events(RunLayout(Path(order.run_dir)).job(job.job_id)), job=job)


def _enter(layout: JobLayout) -> None:
    kernel.adopt_orphans()
    workdir = layout.path / "work"
    workdir.mkdir(parents=True, exist_ok=True)
    os.chdir(workdir)
    output = sharing.open_file(layout.stdout, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.close(nothing)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _describe(code: int | None) -> str:
    if code is None:
        return "the process vanished"
    if code < 0:
        return f"the process was killed by {signal_name(-code)}"
    return _SAID.get(code, f"the process ended with exit code {code}")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, signal.SIG_IGN)
    raise JobStopped


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
            except (Exception, SystemExit) as err:  # noqa: BLE001 - as below
                log.warning("logger %s is off: %s", job.logger, err)

    @property
    def watch(self) -> bool:
        """Whether anybody does."""
        return self._logger is not None or self._host is not None

    def __call__(self, event: Event) -> None:
        if self._logger is not None:
            try:
                self._logger(event)
            except (Exception, SystemExit) as err:  # noqa: BLE001 - a sink must not hurt what it watches
                log.warning("logger %s is off from event %d on: %s", self._job.logger, event.seq, err)
                self._logger = None
        if self._host is not None:
            self._host.observe("tracebench_event", job=self._job, event=event)

    def close(self) -> None:
        """Let the logger write what it holds."""
        if self._logger is not None:
            try:
                self._logger.close()
            except (Exception, SystemExit) as err:  # noqa: BLE001 - as above
                log.warning("logger %s could not be closed: %s", self._job.logger, err)


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
