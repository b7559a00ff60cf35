"""What a runner works with and does not decide: time, its committer's thread, its executor, and the channel through which it is told.

A run has those of this machine. A simulation gives others, and thereby decides in which order everything happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tracebench_core.contracts import CountsProcessors, Executor, JobEnd
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_engine.job import kernel
from tracebench_engine.run.committer import Committer
from tracebench_engine.run.control import RunControl, open_channel
from tracebench_runs.storage.layout import RunLayout

Conclude = Callable[[Sequence[JobEnd]], None]
OpenChannel = Callable[[RunLayout, RunControl, Callable[[str], None]], AbstractContextManager[None]]


def build_executor(host: PluginHost, name: str) -> Executor:
    """Build the executor that goes by a name."""
    built: Executor = load_ref(host.component("executor", name).loader, owner=name)()
    return built


@dataclass(frozen=True, slots=True)
class Means:
    """The means of one runner."""

    clock: Callable[[], float] = time.monotonic
    """Seconds since some moment."""
    committer: Callable[[Conclude], Committer] = Committer
    executor: Callable[[PluginHost, str], Executor] = build_executor
    channel: OpenChannel = open_channel


def cpu_seconds(executor: object = None) -> float:
    """Return the seconds of processors that this process, its descendants that have ended, and an executor's other processes took."""
    elsewhere = executor.cpu_seconds() if isinstance(executor, CountsProcessors) else 0.0
    return kernel.cpu_seconds() + elsewhere
