"""The process that holds a run's environments open.

A lease is a connection: it asks for an environment, gets the handle, and ends what it holds by closing, which a killed job does too. An
environment of scope `run` is opened once and stays until the wire to the runner closes; then everything is closed and the process ends.
What is open stands in the run's `environments.jsonl`, so that a later process can reclaim what this one, if killed, left behind.
"""

from __future__ import annotations

import json
import logging
import shutil
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Environment, NotMeasured
from tracebench_core.errors import TraceBenchError
from tracebench_core.ids import canonical_json
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import EnvironmentSpec
from tracebench_engine.measure.datasets import OpeningContext
from tracebench_engine.measure.requirements import refuse_unmet
from tracebench_engine.measure.wire import Wire
from tracebench_sandbox import temporary

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Opened:
    """One environment that is open."""

    number: int
    environment: Environment
    handle: Any
    workdir: Path


class EnvironmentServer:
    """Serves leases until the runner says so or is gone."""

    def __init__(self, host: PluginHost, record: Path) -> None:
        self._host = host
        self._record = record
        self._lock = threading.Lock()
        self._opening: dict[bytes, threading.Lock] = {}
        self._shared: dict[bytes, Opened] = {}
        self._open: dict[int, Opened] = {}
        self._free: dict[str, threading.Semaphore] = {}
        self._count = 0
        self._is_closing = False

    def serve(self, wire: Wire, listener: socket.socket) -> None:
        """Reclaim what an earlier process left, answer leases, and close everything at the end."""
        self._reclaim()
        threading.Thread(target=self._accept, args=(listener,), name="leases", daemon=True).start()
        wire.send({"ready": True})
        while not wire.closed and not any("stop" in message for message in wire.receive(timeout=None)):
            continue
        self.close()

    def close(self) -> None:
        """Close every environment that is open."""
        with self._lock:
            self._is_closing = True
            left = list(self._open.values())
        threads = [threading.Thread(target=self._end, args=(opened,)) for opened in left]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._serve, args=(Wire(connection),), daemon=True).start()

    def _serve(self, wire: Wire) -> None:
        try:
            request = wire.receive_one()
            if request is None:
                return
            try:
                spec = self._spec(request["name"])
                opened, release = self._lease(spec, request)
                answer: dict[str, Any] = {"handle": opened.handle, "scope": spec.scope}
            except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever a plugin raises is told to the job that asked
                retry = err.retry if isinstance(err, NotMeasured) else not isinstance(err, TraceBenchError)
                wire.send({"error": f"{type(err).__name__}: {err}", "retry": retry})
                return
            try:
                wire.send(answer)
                wire.receive_one()  # nothing more is asked: a message or an end both give it back
            finally:
                if release:
                    self._end(opened)
                    self._free_place(spec)
                wire.send({"released": True})
        finally:
            wire.close()

    def _spec(self, name: str) -> EnvironmentSpec:
        spec = self._host.component("environment", name)
        if not isinstance(spec, EnvironmentSpec):
            raise TypeError(f"`{name}` is no environment")
        refuse_unmet(name, spec)
        return spec

    def _lease(self, spec: EnvironmentSpec, request: Mapping[str, Any]) -> tuple[Opened, bool]:
        """Return an open environment, and whether it ends with this lease."""
        options = {**spec.options, **request["options"]}
        if spec.scope != "run":
            self._take_place(spec)
            try:
                return self._start(spec, options, seed=request["seed"], job_id=request["job"]), True
            except BaseException:
                self._free_place(spec)
                raise
        key = canonical_json([spec.name, options])
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            if key not in self._shared:
                self._shared[key] = self._start(spec, options, seed=request["seed"], job_id=None)
            return self._shared[key], False

    def _start(self, spec: EnvironmentSpec, options: Mapping[str, Any], *, seed: int, job_id: str | None) -> Opened:
        environment: Environment = load_ref(spec.loader, owner=spec.name)(**options)
        workdir = temporary.make_folder("environment")
        with self._lock:
            self._count += 1
            opened = Opened(self._count, environment, None, workdir)
            self._open[opened.number] = opened
        try:
            opened.handle = environment.open(OpeningContext(workdir, seed, job_id))
            self._note({"opened": opened.number, "name": spec.name, "options": dict(options), "handle": opened.handle})
        except BaseException:
            self._end(opened)
            raise
        if self._is_closing:
            self._end(opened)
            raise NotMeasured("the run is ending", retry=False)
        return opened

    def _end(self, opened: Opened) -> None:
        with self._lock:
            if self._open.pop(opened.number, None) is None:
                return
        try:
            opened.environment.close()
        except (Exception, SystemExit):
            log.exception("an environment did not close")
        self._note({"closed": opened.number})
        shutil.rmtree(opened.workdir, ignore_errors=True)

    def _take_place(self, spec: EnvironmentSpec) -> None:
        if spec.capacity is not None:
            with self._lock:
                places = self._free.setdefault(spec.name, threading.Semaphore(spec.capacity))
            places.acquire()

    def _free_place(self, spec: EnvironmentSpec) -> None:
        if spec.capacity is not None:
            self._free[spec.name].release()

    def _note(self, line: Mapping[str, Any]) -> None:
        with self._lock, self._record.open("a") as record:
            record.write(json.dumps(line) + "\n")

    def _reclaim(self) -> None:
        """End what an earlier process has opened, was killed over, and can be told by its handle."""
        left: dict[int, dict[str, Any]] = {}
        with suppress(FileNotFoundError):
            for line in self._record.read_text().splitlines():
                with suppress(ValueError, KeyError):
                    entry = json.loads(line)
                    if "opened" in entry:
                        left[entry["opened"]] = entry
                    else:
                        left.pop(entry["closed"], None)
        for entry in left.values():
            try:
                environment = load_ref(self._spec(entry["name"]).loader, owner=entry["name"])(**entry["options"])
                if callable(reclaim := getattr(environment, "reclaim", None)):
                    reclaim(entry["handle"])
            except (Exception, SystemExit):
                log.exception("environment %s of an earlier process could not be reclaimed", entry["name"])
        self._record.unlink(missing_ok=True)
