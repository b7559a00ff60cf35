"""A run's workers in Ray, as the run sees them: a process holds them, and tells what becomes of them.

That process, and not the run, is Ray's driver: Ray ends a driver whose raylet dies.
"""

from __future__ import annotations

import logging
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError, quoted
from tracebench_core.specs import ExecutorSetting
from tracebench_ray.words import Cluster, Order, Told

log = logging.getLogger(__name__)

PATIENCE = 300.0
"""Seconds that a cluster may take to answer, or to start."""
MOST_AGAIN = 3
"""Times in a row, with no job ended between, that workers which are gone are replaced."""
LEAVING = 90.0
"""Seconds that workers may take to end when the run does."""
PLAIN = {"RAY_DEDUP_LOGS": "0", "RAY_COLOR_PREFIX": "0"}
"""Each line of a worker, as it is."""
HERE = "run the jobs on this machine: -o executor=local, or trace-bench resume RUN --executor local"


def refuse_absent() -> None:
    """Raise MissingRequirementError where Ray is not installed."""
    if find_spec("ray") is None:
        raise MissingRequirementError("The executor `ray` needs Ray.", hint="pip install 'tracebench-ray[ray]'")


class RayWorkers:
    """The workers of one run."""

    def __init__(self, order: Order, setting: ExecutorSetting) -> None:
        """Have them placed.

        Raises:
            TraceBenchError: when Ray is not here, no cluster answers, or no node has what a worker takes.
        """
        self._order = order
        self._environ = setting.environ
        self._log = Path(setting.run_dir, "workers.log")
        self._again = 0
        self._waiting = 0
        self._holder = self._held()

    def look(self) -> Iterator[str]:
        """See `Placement`.

        Raises:
            TraceBenchError: when workers, or the cluster, keep ending.
        """
        gone = []
        for told in self._holder.news():
            if told.ended:
                yield told.ended
            if told.gone:
                gone.append(told.gone)
            if told.waiting is not None and told.waiting != self._waiting:
                self._waiting = told.waiting
                log.warning("%d workers wait for a place in Ray", told.waiting)
        is_dead = self._holder.is_dead
        if not gone and not is_dead:
            return
        self._count("Ray, as this run sees it," if is_dead else "; ".join(dict.fromkeys(gone)))
        if is_dead:
            self._holder.close()
            yield from (told.ended for told in self._holder.news() if told.ended)  # its last words
            self._holder = self._held()
        else:
            self._holder.place(len(gone))

    def is_well(self) -> None:
        """See `Placement`."""
        self._again = 0

    def close(self) -> None:
        """See `Placement`."""
        self._holder.close()

    def _count(self, what: str) -> None:
        self._again += 1
        if self._again > MOST_AGAIN:
            raise TraceBenchError(
                f"Workers in Ray keep ending; what they print is in `{self._log}`. The last: {what.rstrip('.')}.",
                hint=f"cat {quoted(self._log)}",
            )
        log.warning("%s has ended: workers are placed anew", what)

    def _held(self) -> Holder:
        with self._log.open("ab") as sink:
            holder = Holder(self._order, sink, self._environ)
        holder.cluster()
        return holder


class Holder:
    """The process that is Ray's driver."""

    def __init__(self, order: Order, sink: IO[bytes] | int, environ: dict[str, str] | None = None) -> None:
        """Start it.

        `environ` is what it and its workers get, beside what Ray itself is to know of a cluster.
        """
        refuse_absent()
        known = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
        }  # nobody else is to use this machine's
        if order.address:
            known = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tracebench_ray"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            env={**(environ or os.environ), **known, **PLAIN},
            start_new_session=True,
        )
        self._address = order.address
        self._told: queue.SimpleQueue[Told] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._hear, daemon=True)
        self._reader.start()
        self._say(order.model_dump_json())

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, though nobody asked it to."""
        return self._process.poll() is not None

    def cluster(self) -> Cluster:
        """Wait until the cluster has taken what was asked for, and return what it has.

        Raises:
            TraceBenchError: when it does not.
        """
        until = time.monotonic() + PATIENCE
        while True:
            try:
                told = self._told.get(timeout=0.5)
            except queue.Empty:
                if self.is_dead and self._told.empty():
                    self.close()
                    raise TraceBenchError("Ray ended while it was asked for workers.", hint=HERE) from None
                if time.monotonic() > until:
                    self.close()
                    raise TraceBenchError(f"Ray gave no answer for {PATIENCE:g} s.", hint=HERE) from None
                continue
            if told.refused or told.absent:
                self.close()
                hint = "ray status" if self._address else HERE
                raise (
                    UsageError(told.refused, hint=hint)
                    if told.refused
                    else MissingRequirementError(told.absent, hint=hint)
                )
            if told.cluster is not None:
                return told.cluster

    def news(self) -> Iterator[Told]:
        """Yield what was told since."""
        while not self._told.empty():
            yield self._told.get()

    def place(self, number: int) -> None:
        """Have further workers placed."""
        self._say(str(number))

    def close(self) -> None:
        """Have all workers ended, and what of Ray was started for them. Idempotent."""
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._say("leave")
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(LEAVING)
        except subprocess.TimeoutExpired:
            log.warning("Ray does not end workers of this run: ray list actors")
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # it has ended, as `is_dead` tells
            return

    def _hear(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        for line in self._process.stdout:
            self._told.put(Told.model_validate_json(line))


def asked_of(order: Order) -> Cluster:
    """Ask a cluster what it has, and place nothing.

    Raises:
        TraceBenchError: when Ray is not here, no cluster answers, or no node has what a worker takes.
    """
    holder = Holder(order, subprocess.DEVNULL)
    try:
        return holder.cluster()
    finally:
        holder.close()
