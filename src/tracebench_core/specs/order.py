"""What an executor hands to a job's process: the job, and the run's doors that it may use."""

from __future__ import annotations

from typing import Any, Literal

from tracebench_core.specs.base import Spec
from tracebench_core.specs.job import Budget, JobSpec
from tracebench_core.specs.run import PluginsConfig, SandboxConfig


class SharedLimits(Spec):
    """Caps that all jobs of a run share and that are held outside the gateway."""

    evaluations: int | None = None
    counter: str | None = None
    """File that holds the number of evaluations of all jobs."""
    deadline: float | None = None
    """On the system's monotonic clock."""


class JobOrder(Spec):
    """Everything a job process gets; JSON, so that it may cross to another machine."""

    job: JobSpec
    run_dir: str
    access: dict[str, Any] | None = None
    """The job's keys to the gateway; None when the run has no gateway."""
    eval_workers: int = 1
    sandbox: SandboxConfig = SandboxConfig()
    sandbox_address: str | None = None
    """A sandbox server of the run for this task's modules; None to start one when needed."""
    isolation: str = ""
    """How that server holds untrusted code: `strong`, `namespaces` or `process`; empty for a task that runs none."""
    plugins: PluginsConfig = PluginsConfig()
    root: str | None = None
    limits: SharedLimits = SharedLimits()
    phase: Literal["train", "finish"] = "train"
    """`finish` scores what an earlier, ended process of the job had found."""
    ended: str = ""
    """For `finish`: how the earlier process ended (`timeout`, or words)."""
    grace: float = 2.0
    """Seconds between a request to stop and the kill."""

    @property
    def budget(self) -> Budget:
        """The job's own caps."""
        return self.job.budget


class ExecutorSetting(Spec):
    """What holds for all jobs of a run, as an executor needs it."""

    run_dir: str
    workers: int = 1
    environ: dict[str, str]
    """The environment of every job; no secret is in it."""
    preload: tuple[str, ...] = ()
    """Modules worth importing once, before jobs fork."""
    load: tuple[str, ...] = ()
    """Plugins that the run uses."""
    root: str | None = None
    plugins: PluginsConfig = PluginsConfig()
