"""What stands around the runner of a simulated run: who is told, what surrounds the jobs, and a committer that somebody gives its turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.simulation.outside import Outside

from tracebench_core.specs import ExecutorSetting, JobOrder, JobResult, JobSpec
from tracebench_core.specs.order import Sealed
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.run.supervisor import Supervisor
from tracebench_runs.storage.layout import RunLayout

GRACE = 2.0
"""Seconds that a job is given to end."""


class Silent:
    """A reporter."""

    def run_started(self, run_dir: Path, jobs: int) -> None:
        """Say nothing."""

    def job_started(self, job: JobSpec) -> None:
        """Say nothing."""

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        """Say nothing."""

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        """Say nothing."""


class Surrounded:
    """What is around the jobs of a run that asks no model: their orders, and the servers that may die under them."""

    def __init__(self, plan: Plan, layout: RunLayout, outside: Outside) -> None:
        self._plan, self._layout, self._outside = plan, layout, outside
        self.is_paused = False
        self.supervisor = Supervisor(())
        self._own_secret = f"{outside.random.getrandbits(64):x}"
        config = plan.config
        self.setting = ExecutorSetting(run_dir=str(layout.path), workers=config.max_workers, environ={})

    def __enter__(self) -> Surrounded:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def order(
        self, job: JobSpec, trained: Any = None, *, relatives: tuple[str, ...] = (), secret: str = ""
    ) -> JobOrder:
        """See `RunServices`: where jobs stand on a server, what a scoring keeps is for this runner alone."""
        self._outside.forget_death(job.job_id)
        own = f"{secret} {self._own_secret if self._outside.has_servers else ''}"
        order = JobOrder(
            job=job,
            run_dir=str(self._layout.path),
            scoring_timeout=self._plan.config.scoring_timeout,
            grace=GRACE,
            sealed=Sealed(record=own),
        )
        return order if trained is None else order.for_scoring(ended=trained.ended, is_anew=True)

    def leans(self, job: JobSpec) -> bool:
        """Say whether the job stands on a server."""
        return self._outside.has_servers

    def is_spoiled(self, job: JobSpec) -> bool:
        """Say whether a server died under the job, whatever that made of its measurements."""
        if self._outside.has_servers and self._outside.strikes("server dies", 0.04):
            self._outside.note_death(job.job_id)
        died = self._outside.has_died(job.job_id)
        if died:
            self._outside.jobs.forget_kept(job.job_id)
        return died

    def attempt(self, job: JobSpec) -> str:
        """See `RunServices`."""
        return ""

    def calls(self, job: JobSpec, *, after: int) -> list[Any]:
        """See `RunServices`."""
        return []

    def release(self, job: JobSpec) -> None:
        """See `RunServices`."""

    def used(self) -> dict[Any, Any]:
        """See `RunServices`."""
        return {}

    def overshoot(self) -> dict[Any, Any]:
        """See `RunServices`."""
        return {}

    def spent(self) -> None:
        """See `RunServices`."""


class Turns:
    """The condition and the thread of a committer of which somebody takes the turns: who waits takes as many as it takes."""

    def __init__(self) -> None:
        self.turn: Callable[[], bool] = lambda: False

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def wait_for(self, holds: Callable[[], bool]) -> bool:
        """Take turns until something holds."""
        while not holds():
            self.turn()
        return True

    def notify_all(self) -> None:
        """Nobody waits."""

    def start(self) -> None:
        """Nothing is started."""

    def join(self) -> None:
        """Take what turns there are."""
        while self.turn():
            pass
