"""The sandbox servers of a worker: as a run has them, one for each set of modules that tasks want loaded beside untrusted code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tracebench_core.specs import PluginsConfig
from tracebench_engine.api import open_host

if TYPE_CHECKING:
    from tracebench_sandbox import ServerHandle
    from tracebench_workers.member import OnePhase

_Wanted = tuple[tuple[str, ...], tuple[str, ...]]


class Sandboxes:
    """Opened around the work of a worker."""

    def __init__(self, folder: Path, *, root: Path | None, plugins: PluginsConfig) -> None:
        self._folder = folder
        self._host = open_host(root=root, plugins=plugins)
        self._servers: dict[_Wanted, ServerHandle] = {}
        self._of_jobs: dict[str, ServerHandle] = {}
        self._numbers: Iterator[int] = iter(range(1 << 30))
        self._stack = ExitStack()

    def __enter__(self) -> Sandboxes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def held(self, order: OnePhase) -> OnePhase:
        """Return an order with a server of this worker's where the run has one of its own, and with how that one holds code."""
        if order.sandbox_address is None:
            return order
        spec = self._host.task(order.job.task_id)
        wanted = (spec.sandbox or (), (*spec.readable, *order.sandbox.readable))
        server = self._servers.get(wanted)
        if server is None or not server.alive:
            server = self._servers[wanted] = self._start(wanted, order)
        self._of_jobs[order.job.job_id] = server
        return order.model_copy(update={"sandbox_address": server.address, "isolation": server.level})

    def has_died(self, job_id: str) -> bool:
        """Say whether a job's server died while the job ran, so that a death may have passed for a measurement."""
        server = self._of_jobs.pop(job_id, None)
        return server is not None and not server.alive

    def _start(self, wanted: _Wanted, order: OnePhase) -> ServerHandle:
        from tracebench_engine.api.sandboxes import granted_folders, start_server  # noqa: PLC0415 - many runs need none

        folder = self._folder / f"sandbox-{next(self._numbers)}"
        folder.mkdir(mode=0o700)
        readable = granted_folders(wanted[1])
        server = start_server(preload=wanted[0], require=order.sandbox.require, directory=folder, readable=readable)
        self._stack.callback(server.close)
        return server
