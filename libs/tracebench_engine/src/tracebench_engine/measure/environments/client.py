"""How jobs and the runner reach environments: the process that holds them, and leases of what it has open."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import ExecutorSetting
from tracebench_core.specs.parts import Scope
from tracebench_engine.measure.context import Lease
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.wire import Wire
from tracebench_sandbox import temporary

ENTRY = "tracebench_engine.builtin.environments_main"
"""Composes a plugin host and serves; started as `python -m`, so that nothing here imports it."""
START_SECONDS = 900.0
"""How long their process may take to import what they need."""
CLOSE_SECONDS = 60.0
"""How long environments may take to close at the end of a run; after that their process is killed."""


class EnvironmentProcess:
    """The process that holds a run's environments open; it notices when its runner is gone."""

    def __init__(self, setting: ExecutorSetting) -> None:
        self._folder = temporary.make_folder("environments")
        self.address = str(self._folder / "leases")
        ours, theirs = socket.socketpair()
        with Path(setting.run_dir, "environments.log").open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", ENTRY, "--fd", str(theirs.fileno()), "--address", self.address],
                pass_fds=[theirs.fileno()],
                env=setting.environ,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        theirs.close()
        self._wire = Wire(ours)
        self._wire.send({"setting": setting.model_dump(mode="json")})
        if not self._wire.receive(timeout=START_SECONDS):
            self.close()
            raise TraceBenchError(
                "The process that holds the environments does not start.",
                hint=f"cat {setting.run_dir}/environments.log",
            )

    def close(self) -> None:
        """Close every environment, and end the process. Idempotent."""
        self._wire.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class RemoteLease:
    """One environment held open through a connection."""

    def __init__(self, address: str, request: Mapping[str, Any]) -> None:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(address)
        except OSError as err:
            raise NotMeasured(f"the process that holds the environments cannot be reached: {err}") from err
        self._wire = Wire(connection)
        self._wire.send(dict(request))
        answer = self._wire.receive_one()
        if answer is None:
            raise NotMeasured("the process that holds the environments is gone")
        if "error" in answer:
            self._wire.close()
            raise NotMeasured(
                f"environment `{request['name']}` cannot be opened: {answer['error']}", retry=answer["retry"]
            )
        self.handle: Any = answer["handle"]
        self.scope: Scope = answer["scope"]

    def release(self) -> None:
        """Give it back, and wait until what ends with it has ended."""
        self._wire.send({"release": True})
        self._wire.receive_one()
        self._wire.close()


class JobEnvironments:
    """The environments that a job's task names. What lives as long as the job is leased once; `close` gives it back."""

    def __init__(
        self, address: str, *, names: Collection[str], job_id: str, seed: int, recorder: Recorder | None = None
    ) -> None:
        self._address = address
        self._names = names
        self._job_id = job_id
        self._seed = seed
        self._recorder = recorder
        self._kept: dict[str, RemoteLease] = {}
        self._lock = threading.Lock()

    def lease(self, name: str, options: Mapping[str, JsonValue]) -> Lease:
        """See `Environments`."""
        if name not in self._names:
            raise NotMeasured(f"the task names no environment `{name}`", retry=False)
        key = f"{name} {sorted(options.items())}"
        if key in self._kept:
            return _Borrowed(self._kept[key].handle)
        with self._lock:
            if key in self._kept:
                return _Borrowed(self._kept[key].handle)
            lease = self._open(name, options)
            if lease.scope == "evaluation":
                return lease
            self._kept[key] = lease
            return _Borrowed(lease.handle)

    def close(self) -> None:
        """Give back what lived as long as the job."""
        for lease in self._kept.values():
            lease.release()
        self._kept.clear()

    def _open(self, name: str, options: Mapping[str, JsonValue]) -> RemoteLease:
        started = time.monotonic()
        request = {"name": name, "options": dict(options), "job": self._job_id, "seed": self._seed}
        try:
            lease = RemoteLease(self._address, request)
        except NotMeasured as err:
            if self._recorder is not None:
                self._recorder.environment(name, None, "failed", seconds=time.monotonic() - started, reason=str(err))
            raise
        if self._recorder is not None:
            self._recorder.environment(name, lease.scope, "opened", seconds=time.monotonic() - started)
        return lease


class _Borrowed:
    """A lease of what lives longer than one evaluation."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def release(self) -> None:
        """Do nothing: whoever keeps it gives it back."""
