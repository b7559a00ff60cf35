"""What an executor hands to a job's process: the job, and the run's doors that it may use."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tracebench_core.specs.base import Role, Spec, Split
from tracebench_core.specs.budget import Budget
from tracebench_core.specs.job import Calibrated, JobSpec, Judge
from tracebench_core.specs.named import PluginsConfig
from tracebench_core.specs.run import SandboxConfig
from tracebench_core.specs.task import Resources


class SharedLimits(Spec):
    """Caps that all jobs of a run share and that are held outside the gateway."""

    evaluations: int | None = None
    counter: str | None = None
    """File that holds the number of evaluations of all jobs."""
    deadline: float | None = None
    """On the system's monotonic clock."""


class Sealed(Spec):
    """What only the process that scores may hold."""

    salts: dict[Split, str] = {}
    keys: dict[Role, str] = {}
    """The gateway's, for the calls of scoring."""
    record: str = ""
    """What keys the measurements that a scoring keeps for one in its place."""


class JobOrder(Spec):
    """Everything a job process gets; JSON, so that it may cross to another machine."""

    job: JobSpec
    run_dir: str
    access: dict[str, Any] | None = None
    """The job's keys to the gateway; None when the run has no gateway."""
    salts: dict[Split, str] = {}
    """What generated instances are drawn from, of the splits that this process may hold; a split without one is public."""
    record: str = Field(default="", repr=False)
    """For `score`: what keys the measurements that it keeps; empty where it keeps none."""
    sealed: Sealed = Field(default=Sealed(), exclude=True, repr=False)
    """Left out of the order's JSON, so that no process that trains is ever given it; `for_scoring` adds it to what scoring is given."""
    eval_workers: int = 1
    sandbox: SandboxConfig = SandboxConfig()
    sandbox_address: str | None = None
    """A sandbox server of the run for this task's modules; None to start one when needed."""
    isolation: str = ""
    """How that server holds untrusted code: `strong`, `namespaces` or `process`; empty for a task that runs none."""
    plugins: PluginsConfig = PluginsConfig()
    root: str | None = None
    limits: SharedLimits = SharedLimits()
    judge: Judge | None = None
    """What scores the task's candidates here."""
    calibration: Calibrated | None = None
    """Where the task was calibrated; None where nobody looked."""
    refusal: str = ""
    """Why the task is not scored on this machine; the job is skipped then."""
    relatives: tuple[str, ...] = ()
    """Finished jobs of the run that have measured the same task with the same seed, where their measurements may be reused."""
    environments: str | None = None
    """Address of the run's environments; None when no task of it names any."""
    scoring_timeout: float | None = None
    """Seconds that the phase `score` may tell nothing new in the job's events; None for no limit."""
    evaluation_retries: int = 1
    fail_on_error: float = 0.2
    phase: Literal["train", "score"] = "train"
    """`score` chooses the winner of what the job's process had found, in a fresh one; it alone may open the test split."""
    ended: str = ""
    """For `score`: how the earlier process ended that could not say it itself (`timeout`, or words)."""
    is_anew: bool = False
    """For `score`: an earlier scoring was cut short with its runner."""
    grace: float = 2.0
    """Seconds between a request to stop and the kill."""

    @property
    def budget(self) -> Budget:
        """The job's own caps."""
        return self.job.budget

    @property
    def time_limit(self) -> float | None:
        """Seconds that the process of this phase may take; None for no limit."""
        return self.job.timeout if self.phase == "train" else self.scoring_timeout

    def next_phase(self, exit_: str, detail: str) -> JobOrder | None:
        """Return the order that follows the end of this one's process; None when the job needs no other.

        An executor runs it as any order. `exit_` is `done`, `trained`, `timeout`, `died`, `cancelled` or `lost`.
        """
        if self.phase == "score" or exit_ in {"cancelled", "lost"}:
            return None
        return self.for_scoring(ended={"done": "", "trained": "", "timeout": "timeout"}.get(exit_, detail))

    def for_scoring(self, *, ended: str, is_anew: bool = False) -> JobOrder:
        """Return the order of the job's scoring, with what was sealed."""
        access = self.access
        if access is not None:
            keys = {role: {**access["keys"][role], "scoring": key} for role, key in self.sealed.keys.items()}
            access = {**access, "keys": access["keys"] | keys}
        salts = self.salts | self.sealed.salts
        changed = {
            "phase": "score",
            "ended": ended,
            "is_anew": is_anew,
            "access": access,
            "salts": salts,
            "record": self.sealed.record,
        }
        return self.model_copy(update=changed)


class Use(Spec):
    """A task, trainer or proposer that jobs of a run use, and which may need something of the machine where they run."""

    kind: Literal["task", "trainer", "optimizer"]
    id: str
    settings: dict[str, Any] = {}
    """Those that may make a requirement moot."""


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
    require: Literal["auto", "strong", "process"] | None = None
    """How well code of candidates must be held where jobs run, as `sandbox.require`; None where no task has any."""
    resources: Resources = Resources()
    """What one job may need at most."""
    uses: tuple[Use, ...] = ()
    """What its jobs use, each once."""


class WorkerState(Spec):
    """One worker of a run, as its executor knows it."""

    name: str
    host: str
    slots: int
    """Jobs that it may run at a time."""
    jobs: tuple[str, ...] = ()
    """Ids of those that it runs."""
    silent: float = 0.0
    """Seconds since its last word."""
    is_reached: bool = True
    """Whether its connection stands."""
