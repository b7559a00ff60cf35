"""How jobs and the runner reach environments: the process that holds them, and leases of what it has open."""

from __future__ import annotations

import logging
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import TraceBenchError, quoted
from tracebench_core.specs import ExecutorSetting
from tracebench_core.specs.parts import Scope
from tracebench_engine.measure.context import Lease
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.wire import Wire
from tracebench_sandbox import temporary

log = logging.getLogger(__name__)

ENTRY = "tracebench_engine.builtin.environments_main"
"""Composes a plugin host and serves; started as `python -m`, so that nothing here imports it."""
START_SECONDS = 900.0
"""How long their process may take to import what they need."""
LOOK_SECONDS = 0.2
CLOSE_SECONDS = 60.0
"""How long environments may take to close at the end of a run; after that their process is killed."""
QUIET_SECONDS = 5.0
"""How long they are waited for before it is told."""


ABSENT_SECONDS = 30.0
"""How long a job waits for one that has ended on its own to listen again; what it then imports is waited for as at first."""
LONGEST_PAUSE = 60.0
"""Seconds between two starts of one that does not start."""


class EnvironmentProcess:
    """The process that holds a run's environments open; it notices when its runner is gone."""

    def __init__(self, setting: ExecutorSetting) -> None:
        self._setting = setting
        self._folder = temporary.socket_folder("environments")
        self.address = str(self._folder / "leases")
        self.replaced = 0
        """How often another was started."""
        self._serves = False
        """It was started, and is not being started again."""
        self._counting = threading.Lock()
        self._unstarted = 0
        self._enough = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        self._serves = True

    @property
    def deaths(self) -> int:
        """How often it ended on its own, now included. What jobs had open in it is gone, and may have passed for what they measure."""
        with self._counting:
            return self.replaced + (not self.is_alive())

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._wire = Wire(ours)
        with theirs, Path(self._setting.run_dir, "environments.log").open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", ENTRY, "--fd", str(theirs.fileno()), "--address", self.address],
                pass_fds=[theirs.fileno()],
                env=self._setting.environ,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        self._wire.send({"setting": self._setting.model_dump(mode="json")})
        until = time.monotonic() + START_SECONDS
        while not self._wire.receive(timeout=LOOK_SECONDS):
            if self._wire.closed or self._enough.is_set() or time.monotonic() > until:
                self._kill()
                raise TraceBenchError(
                    "The process that holds the environments does not start.",
                    hint=f"cat {quoted(self._setting.run_dir)}/environments.log",
                )

    def is_alive(self) -> bool:
        """Tell whether it runs. One that is just ending closes its wire first, which is older than whatever environments opened."""
        process, poller = self._process, select.poll()
        if not self._serves or process is None or process.poll() is not None:
            return False
        with suppress(ValueError):  # closed here: it is started again
            poller.register(self._wire.fileno(), select.POLLRDHUP)
            return not poller.poll(0)
        return False

    def knock(self) -> socket.socket:
        """Connect, and ask for no environment, which is refused at once."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(LOOK_SECONDS)
            connection.connect(self.address)
            connection.sendall(b"{}\n")
        except BaseException:
            connection.close()
            raise
        return connection

    def restart(self) -> None:
        """End what the dead one has started, and start another at the same address, which reclaims what was open.

        Raises:
            TraceBenchError: when it does not start; each further try waits longer.
        """
        self._serves = False
        self._wire.close()
        self._kill()
        if self._unstarted and self._enough.wait(min(LONGEST_PAUSE, 2.0**self._unstarted)):
            return
        Path(self.address).unlink(missing_ok=True)
        self._unstarted += 1
        self._start()
        self._unstarted = 0
        with self._counting:
            self.replaced += 1
            self._serves = True

    def keep_no_more(self) -> None:
        """Wait for no start any more: the run ends."""
        self._enough.set()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _ends(self, seconds: float) -> bool:
        try:
            return self._process is None or self._process.wait(seconds) is not None
        except subprocess.TimeoutExpired:
            return False

    def close(self) -> None:
        """Close every environment, and end the process. Idempotent."""
        self._wire.close()
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGCONT)  # one that is held could close nothing
            if not self._ends(QUIET_SECONDS):
                log.warning("environments are closing; they are waited for, up to %g s", CLOSE_SECONDS)
                self._ends(CLOSE_SECONDS)
            self._kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class Absent(NotMeasured):
    """Nobody holds environments here, and nobody came for as long as was waited."""


class RemoteLease:
    """One environment held open through a connection."""

    def __init__(self, address: str, request: Mapping[str, Any], *, patience: float = ABSENT_SECONDS) -> None:
        """`patience`: seconds that it waits for somebody to listen at the address.

        Raises:
            NotMeasured: when it cannot be opened; `Absent` when nobody listens.
        """
        self._wire = Wire(_connected(address, patience))
        self._wire.send(dict(request))
        answer = self._wire.receive_one()
        if answer is None:
            self._wire.close()
            raise NotMeasured("the process that holds the environments is gone")
        if "error" in answer:
            self._wire.close()
            raise NotMeasured(
                f"environment `{request['name']}` cannot be opened: {answer['error']}", retry=answer["retry"]
            )
        self.handle: Any = answer["handle"]
        self.scope: Scope = answer["scope"]

    @property
    def is_gone(self) -> bool:
        """Whether the process that held it has ended, and it with that."""
        self._wire.receive(timeout=0)
        return self._wire.closed

    def release(self) -> None:
        """Give it back, and wait until what ends with it has ended."""
        self._wire.send({"release": True})
        self._wire.receive_one()
        self._wire.close()


def _connected(address: str, patience: float) -> socket.socket:
    until = time.monotonic() + patience
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(address)
        except OSError as err:
            connection.close()
            if not address or not Path(address).parent.exists() or time.monotonic() > until:
                raise Absent(f"the process that holds the environments cannot be reached: {err}") from err
            time.sleep(LOOK_SECONDS)
        else:
            return connection


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
        self._patience = ABSENT_SECONDS

    def lease(self, name: str, options: Mapping[str, JsonValue]) -> Lease:
        """See `Environments`."""
        if name not in self._names:
            raise NotMeasured(f"the task names no environment `{name}`", retry=False)
        key = f"{name} {sorted(options.items())}"
        if (kept := self._kept.get(key)) is not None and not kept.is_gone:
            return _Borrowed(kept.handle)
        with self._lock:
            if (kept := self._kept.get(key)) is not None and not kept.is_gone:
                return _Borrowed(kept.handle)
            if kept is not None:
                self._kept.pop(key).release()
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
            lease = RemoteLease(self._address, request, patience=self._patience)
        except NotMeasured as err:
            if isinstance(err, Absent):
                self._patience = 0.0  # the next evaluation does not wait as long again
            if self._recorder is not None:
                self._recorder.environment(name, None, "failed", seconds=time.monotonic() - started, reason=str(err))
            raise
        self._patience = ABSENT_SECONDS
        if self._recorder is not None:
            self._recorder.environment(name, lease.scope, "opened", seconds=time.monotonic() - started)
        return lease


class _Borrowed:
    """A lease of what lives longer than one evaluation."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def release(self) -> None:
        """Do nothing: whoever keeps it gives it back."""
