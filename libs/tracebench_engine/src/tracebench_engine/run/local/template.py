"""The template process: it has the run's imports, forks a process per job, kills each at its timeout, and never outlives its runner.

It is single-threaded, so forking is safe, and the subreaper of all that jobs start: when a job's process is gone, whoever is left of it
has become the template's child and is killed. When the runner is gone, be it by `kill -9`, the wire closes and the template kills
everything below it before it ends.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tracebench_core.specs import JobOrder
from tracebench_core.specs.base import Spec
from tracebench_engine.job import kernel
from tracebench_engine.job.execution import ending
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.forking import ASKED, fork_child
from tracebench_engine.run.local.worker import Worker
from tracebench_engine.run.local.workers import Workers
from tracebench_runs.events import eventlog

RunChild = Callable[[JobOrder], int]
"""Runs one job; returns the exit code of the job's process."""


@dataclass(slots=True)
class Child:
    """One job's process."""

    job_id: str
    number: int
    pid: int
    pidfd: int
    workdir: Path
    grace: float
    deadline: float | None
    patience: float | None = None
    """Of a scoring: seconds from one event of the job to the next; None where the deadline stands."""
    told: int = 0
    """Bytes of the job's events when it was last asked whether it goes on."""
    worker: Worker | None = None
    """Where its process runs further jobs."""
    kill_at: float | None = None
    ended: str = ""
    """Why it was asked to end: `timeout` or `cancelled`."""

    def has_heartbeat(self, now: float) -> bool:
        """Say whether the job's events have grown since the last time, which is its heartbeat; it then has as long again."""
        if self.patience is None:
            return False
        try:
            told = (self.workdir.parent / "events.jsonl").stat().st_size
        except OSError:
            return False
        is_new, self.told = told > self.told, told
        if is_new:
            self.deadline = now + self.patience
        return is_new


LONGEST_WAIT = 3600.0
"""Seconds after which it looks again: the system waits for a month at most."""


class Template:
    """The loop of the template process."""

    def __init__(self, wire: Wire, run_child: RunChild) -> None:
        self._wire = wire
        self._run_child = run_child
        self._children: dict[int, Child] = {}
        self._workers = Workers(run_child, close=self._close_mine)
        self._stopping = False

    def serve(self) -> None:
        """Serve until the runner says so or is gone."""
        kernel.adopt_orphans()
        for asked in ASKED:
            signal.signal(asked, lambda *_: self._stop())
        gc.collect()
        gc.freeze()
        self._wire.send({"ready": os.getpid()})
        while not (self._wire.closed or (self._stopping and not self._children)):
            self._wait()
            self._enforce_deadlines()
        kernel.kill_children()
        self._wire.send({"used": kernel.cpu_seconds()})

    def _wait(self) -> None:
        poller = select.poll()
        poller.register(self._wire.fileno(), select.POLLIN)
        telling = {}
        for pidfd, child in self._children.items():
            poller.register(pidfd, select.POLLIN)
            if child.worker is not None:
                telling[child.worker.fileno()] = pidfd
                poller.register(child.worker.fileno(), select.POLLIN)
        ready = {fd for fd, _ in poller.poll(self._patience())}
        for pidfd in (ready & self._children.keys()) | {telling[fd] for fd in ready & telling.keys()}:
            self._bury(self._children.pop(pidfd))
        if self._wire.fileno() in ready or self._wire.has_messages:
            for message in self._wire.receive(timeout=0):
                self._obey(message)

    def _patience(self) -> float | None:
        if self._wire.has_messages:
            return 0.0
        times = [t for c in self._children.values() for t in (c.kill_at, c.deadline) if t is not None]
        return max(0.0, min(min(times) - time.monotonic(), LONGEST_WAIT) * 1000) if times else None

    def _obey(self, message: dict[str, Any]) -> None:
        if "start" in message:
            self._start(message)
        elif "cancel" in message:
            for child in self._children.values():
                if child.job_id == message["cancel"]:
                    self._ask_to_end(child, "cancelled")
        elif "ping" in message:
            self._wire.send({"alive": True})
        elif "stop" in message:
            self._stop()

    def _start(self, message: dict[str, Any]) -> None:
        worker = self._workers.take(message["start"].encode())
        pid = self._fork(message["start"]) if worker is None else worker.pid
        limit = message["timeout"]
        child = Child(
            job_id=message["job"],
            number=message["number"],
            pid=pid,
            pidfd=os.pidfd_open(pid),
            workdir=Path(message["workdir"]),
            grace=message["grace"],
            deadline=time.monotonic() + limit if limit else None,
            patience=limit if message["phase"] == "score" else None,
            worker=worker,
        )
        self._children[child.pidfd] = child

    def _fork(self, text: str) -> int:
        """Fork a process for one job alone."""
        order = JobOrder.model_validate_json(text)  # here, where its code is warm, rather than in every child
        return fork_child(lambda: self._run_child(order), close=self._close_mine)

    def _kept(self) -> set[int]:
        """Return the processes of jobs, and of those to come."""
        return {child.pid for child in self._children.values()} | self._workers.idle

    def _close_mine(self) -> None:
        """In a forked process: close what is the template's."""
        self._wire.close()
        for pidfd in self._children:
            os.close(pidfd)
        self._workers.close()

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if child.kill_at is not None and now >= child.kill_at:
                kernel.kill_group(child.pid)
                kernel.kill(child.pid)
                child.kill_at = child.deadline = None
            elif child.deadline is not None and now >= child.deadline and not child.has_heartbeat(now):
                self._ask_to_end(child, "timeout")

    def _ask_to_end(self, child: Child, why: str) -> None:
        if not child.ended:
            child.ended, child.deadline = why, None
            child.kill_at = time.monotonic() + child.grace
            if not kernel.kill_group(child.pid, signal.SIGTERM):
                kernel.kill(child.pid, signal.SIGTERM)  # it has only just been forked, and leads no group yet

    def _stop(self) -> None:
        self._stopping = True
        for child in self._children.values():
            self._ask_to_end(child, "cancelled")

    def _bury(self, child: Child) -> None:
        os.close(child.pidfd)
        if child.worker is None:
            code = kernel.reap(child.pid)
            kernel.kill_group(child.pid)
        else:
            left = kernel.kill_children(
                keep=self._kept() | {child.pid}
            )  # who is set back has nobody beside who could reach it
            code = self._workers.give_back(child.worker, is_ended=bool(child.ended or left))
        if left := kernel.kill_children(keep=self._kept()):
            sys.stderr.write(f"of job {child.job_id} these processes were killed and do not end: {sorted(left)}\n")
        _remove_folder(child.workdir)
        end, detail = ending(code, asked=child.ended)
        self._wire.send({"end": child.job_id, "number": child.number, "exit": end, "detail": detail})


def split_off() -> bool:
    """Make a second process of this one, which is nobody's child here; return True in the first and False in the second."""
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return True
    os.setsid()
    if os.fork():
        os._exit(0)
    return False


def preload(modules: Iterable[str]) -> None:
    """Import modules before the first fork; one that cannot be imported is told where it is used, not here."""
    for name in modules:
        try:
            import_module(name)
        except (Exception, SystemExit) as err:  # noqa: BLE001 - the job that needs it reports it with its own words
            sys.stderr.write(f"not preloaded: {name}: {type(err).__name__}: {err}\n")


def build_models() -> None:
    """Build the validators of all specs and events, which are built at first use: here once, rather than in every child."""
    _build(Spec)
    eventlog.prepare()


def _build(base: type[BaseModel]) -> None:
    for spec in base.__subclasses__():
        spec.model_rebuild()
        _build(spec)


def _remove_folder(path: Path) -> None:
    with suppress(OSError):
        path.rmdir()  # most are empty
        return
    shutil.rmtree(path, ignore_errors=True)
