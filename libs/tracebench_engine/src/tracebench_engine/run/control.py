"""What a run is told while it runs: pause, go on, cancel a job or everything; each kept in `control.jsonl` with who, when and why."""

from __future__ import annotations

import json
import os
import pwd
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tracebench_core.contracts import Placed
from tracebench_core.errors import RunDirError
from tracebench_engine.door.control_registry import RunEntry, entry_path, forget, write_entry
from tracebench_engine.run.control_channel import ControlServer, Peer
from tracebench_runs.storage.clock import timestamp, utc_now
from tracebench_runs.storage.files import AppendLog
from tracebench_runs.storage.layout import RunLayout


class Canceller(Protocol):
    """What ends running jobs: the run's executor."""

    def cancel(self, job_id: str) -> None:
        """Ask one running job to end."""
        ...


class RunControl:
    """What was asked of one run. Asked in the channel's thread, read in the runner's. Thread-safe."""

    def __init__(self, layout: RunLayout, job_ids: Iterator[str]) -> None:
        self._layout = layout
        self._planned = frozenset(job_ids)
        self._lock = threading.RLock()
        self._paused = False
        self._cancelled = ""
        self._reasons: dict[str, str] = {}
        self._running: dict[str, None] = {}
        self._done: set[str] = set()
        self._since = timestamp(utc_now())
        self.executor: Canceller | None = None
        """Set once jobs may run."""

    @property
    def is_paused(self) -> bool:
        """Whether no job may start at present."""
        return self._paused and not self._cancelled

    @property
    def stopped_by(self) -> str:
        """`cancelled: <reason>` once the run is cancelled, else nothing."""
        return f"cancelled: {self._cancelled}" if self._cancelled else ""

    def reason(self, job_id: str) -> str | None:
        """Return why a job was cancelled, None when it was not."""
        return self._reasons.get(job_id)

    def finished_before(self, job_ids: Iterator[str]) -> None:
        """Take over what an earlier process of the run has finished."""
        with self._lock:
            self._done.update(job_ids)

    def started(self, job_id: str) -> None:
        """A job is handed to the executor."""
        with self._lock:
            self._running[job_id] = None

    def ended(self, job_id: str, *, finished: bool) -> None:
        """A job's process is gone."""
        with self._lock:
            self._running.pop(job_id, None)
            if finished:
                self._done.add(job_id)

    def answer(self, request: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """Do what a request asks, and say so."""
        match request:
            case {"do": "status"}:
                return {"ok": True, **self.status()}
            case {"do": "pause" | "unpause" as what}:
                return self._hold(what, peer)
            case {"do": "cancel", "reason": str(reason), "job": str(job_id)}:
                return self._cancel_job(job_id, reason, peer)
            case {"do": "cancel", "reason": str(reason)}:
                return self._cancel_run(reason, peer)
            case _:
                return {"ok": False, "error": f"the run does not understand {json.dumps(request)[:200]}"}

    def status(self) -> dict[str, Any]:
        """Return how far the run is."""
        with self._lock:
            return {
                "run_id": self._layout.run_id,
                "run_dir": str(self._layout.path.resolve()),
                "pid": os.getpid(),
                "since": self._since,
                "jobs": len(self._planned),
                "done": len(self._done),
                "running": list(self._running),
                "workers": [w.model_dump(mode="json") for w in self.executor.places()]
                if isinstance(self.executor, Placed)
                else [],
                "state": self.stopped_by or ("paused" if self._paused else "running"),
            }

    def record(self, action: str, *, peer: Peer | None = None, **details: Any) -> None:
        """Keep what was asked, durably, with who and when."""
        who = Peer(os.getpid(), os.geteuid()) if peer is None else peer
        line = {
            "t": timestamp(utc_now()),
            "action": action,
            **details,
            "by": {"user": _user_name(who.uid), "uid": who.uid, "pid": who.pid},
        }
        log = AppendLog(self._layout.control)
        try:
            log.append(json.dumps(line, separators=(",", ":")).encode(), durable=True)
        finally:
            log.close()

    def _hold(self, what: str, peer: Peer) -> dict[str, Any]:
        with self._lock:
            changed = self._paused != (what == "pause")
            if changed:
                self.record(what, peer=peer)
                self._paused = what == "pause"
        return {"ok": True, "changed": changed, **self.status()}

    def _cancel_job(self, job_id: str, reason: str, peer: Peer) -> dict[str, Any]:
        with self._lock:
            if job_id not in self._planned:
                return {"ok": False, "error": f"run `{self._layout.run_id}` has no job `{job_id}`"}
            if job_id in self._done:
                return {"ok": False, "error": f"job `{job_id}` has ended already"}
            self.record("cancel", peer=peer, job=job_id, reason=reason)
            self._reasons.setdefault(job_id, reason)
            if job_id in self._running and self.executor is not None:
                self.executor.cancel(job_id)
        return {"ok": True, "job": job_id, **self.status()}

    def _cancel_run(self, reason: str, peer: Peer) -> dict[str, Any]:
        with self._lock:
            self.record("cancel", peer=peer, reason=reason)
            self._cancelled = self._cancelled or reason or "no reason given"
            for job_id in [*self._running]:
                if self.executor is not None:
                    self.executor.cancel(job_id)
        return {"ok": True, **self.status()}


@contextmanager
def open_channel(layout: RunLayout, control: RunControl, warn: Callable[[str], None]) -> Iterator[None]:
    """Let the run be found and told things while the block runs; where that cannot be had, `warn` is told, and the run runs without."""
    run_dir = layout.path.resolve()
    try:
        address = entry_path(run_dir).with_suffix(".sock")
        server = ControlServer(address, control.answer)
        entry = RunEntry(layout.run_id, str(run_dir), os.getpid(), control.status()["since"], str(address))
        write_entry(entry)
    except (OSError, RunDirError) as err:
        warn(f"the run cannot be paused or cancelled from outside: {err}")
        yield
        return
    try:
        with server:
            yield
    finally:
        forget(entry)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
