"""Holds jobs back that the run's budget cannot pay for, so that what is started can finish."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tracebench_core.specs import ADDING, Axis, Budget, BudgetState, JobResult, JobSpec, RunConfig
from tracebench_runs.events.metering import total

Group = tuple[str, str, str]


class Reserve:
    """What the run's budget still pays for, beside the jobs under way.

    A job is taken to cost what its own budget allows, else as much as the dearest ended job of its task, trainer and settings, else as
    the dearest of all. Until one has ended nothing is known, and one job without a budget of its own runs at a time. Threads may call.
    """

    def __init__(self, budget: Budget, spent: Mapping[Axis, float | None]) -> None:
        """`spent`: by the run so far, by axis."""
        self._caps = {axis: cap for axis, cap in budget.caps().items() if axis in ADDING}
        self._left = {axis: cap - (spent.get(axis) or 0.0) for axis, cap in self._caps.items()}
        self._active: dict[str, dict[Axis, float | None]] = {}
        self._dearest: dict[Group | None, dict[Axis, float]] = {}
        self._lock = threading.Lock()

    def beyond(self, job: JobSpec) -> Axis | None:
        """Return the axis on which a job costs more than is left when nothing else is under way; None when it can be paid for."""
        with self._lock:
            wanted = self._estimate(job)
            for axis, left in self._left.items():
                need = wanted[axis]
                if left <= 0 or (need is not None and need > left and not self._active):
                    return axis
            return None

    def must_wait(self, job: JobSpec) -> bool:
        """Say whether a job has to wait for one under way, of which it is not known what it leaves."""
        with self._lock:
            wanted = self._estimate(job)
            return any(self._is_taken(axis, wanted[axis]) for axis in self._left) if self._active else False

    def started(self, job: JobSpec) -> None:
        """Set aside what a job may cost."""
        with self._lock:
            self._active[job.job_id] = self._estimate(job)

    def ended(self, job: JobSpec, result: JobResult | None) -> None:
        """Count what a job cost, scoring included; None of an attempt that left no result, which is taken at its estimate."""
        with self._lock:
            estimate = self._active.pop(job.job_id, None)
            if estimate is None:
                return
            cost = _cost(result) if result is not None else {a: amount or 0.0 for a, amount in estimate.items()}
            for axis in self._left:
                self._left[axis] -= cost[axis]
            if result is not None and result.status == "ok" and not result.stop_reason.startswith("run budget"):
                for group in (_group(job), None):
                    known = self._dearest.setdefault(group, cost)
                    self._dearest[group] = {axis: max(known[axis], cost[axis]) for axis in ADDING}

    def _is_taken(self, axis: Axis, need: float | None) -> bool:
        held = [active[axis] for active in self._active.values()]
        known = [amount for amount in held if amount is not None]
        return need is None or len(known) < len(held) or need > self._left[axis] - sum(known)

    def _estimate(self, job: JobSpec) -> dict[Axis, float | None]:
        own = job.budget.caps()
        dearest = self._dearest.get(_group(job)) or self._dearest.get(None) or {}
        return {axis: own.get(axis, dearest.get(axis)) for axis in self._caps}


def shares(config: RunConfig, jobs: int) -> Budget | None:
    """Return what each job gets of a run's budget in equal parts, where the config caps no job: the first takes all of it else.

    None where jobs have a cap of their own, or the run has none that they share.
    """
    caps = config.run_budget.caps()
    if config.budget.caps() or jobs < 2 or not caps.keys() & set(ADDING):  # noqa: PLR2004 - one job may have all of it
        return None
    parts = {axis: caps[axis] / jobs for axis in ADDING if axis in caps}
    return Budget.model_validate({a: float(f"{part:.3g}") if a == "usd" else int(part) for a, part in parts.items()})


def unshared_words(config: RunConfig, jobs: int) -> str | None:
    """Return the warning that goes with `shares`, with the line to write; None where nothing is to be warned of."""
    parts = shares(config, jobs)
    if parts is None:
        return None
    line = ", ".join(f"{axis}: {cap:g}" for axis, cap in parts.caps().items())
    return (
        f"`run_budget` without `budget`: a job may take all of it, which ends it there, and the others of {jobs} are not run; in equal"
        f" parts: budget: {{{line}}}"
    )


def _group(job: JobSpec) -> Group:
    return job.task_id, job.trainer_id, repr(sorted(job.params.items(), key=lambda item: item[0]))


def _cost(result: JobResult) -> dict[Axis, float]:
    used = BudgetState.of(total(result.usage), evaluations=result.used.evaluations)
    return {axis: getattr(used, axis) or 0.0 for axis in ADDING}
