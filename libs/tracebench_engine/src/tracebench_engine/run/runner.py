"""Run a plan: schedule its jobs on an executor, declare each finished once, keep the derived files true, continue after any end.

The main thread schedules. Ended jobs go to the committer's thread, which flushes them to disk, declares them finished, and only then
tells tables and reporter.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracebench_core.contracts import JobEnd, Reporter
from tracebench_core.errors import UNWRITABLE, RunDirError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import Axis, JobOrder, JobResult, JobSpec, JobStatus, Resume
from tracebench_engine.job.control_end import Cancelled, conclude_cancelled
from tracebench_engine.job.finish import conclude_broken, conclude_lost
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.matrix.reserve import Reserve
from tracebench_engine.measure.measurement_cache import relatives
from tracebench_engine.run.circuit_breaker import RunBreaker
from tracebench_engine.run.committer import Committer
from tracebench_engine.run.control import RunControl
from tracebench_engine.run.interrupts import terminated_is_interrupted
from tracebench_engine.run.means import Means, cpu_seconds
from tracebench_engine.run.retries import Retries
from tracebench_engine.run.services import RunServices
from tracebench_engine.run.trainings import Trainings
from tracebench_engine.run.underway import Breaks, Spoilt, SpoiltError, Underway
from tracebench_runs.check.closing import Closing
from tracebench_runs.check.recovery import settle
from tracebench_runs.journal.commit import commit
from tracebench_runs.journal.journal import EndRecord, Journal, TrainedRecord
from tracebench_runs.journal.trust import Trust, read_trust
from tracebench_runs.journal.witness import harm
from tracebench_runs.meta.planned import chosen_of, ids_of
from tracebench_runs.results.results import StoredResult, read_result
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.disk import disk_errors_explained
from tracebench_runs.storage.layout import RunLayout

log = logging.getLogger(__name__)

FINISHED: frozenset[JobStatus] = frozenset({"ok", "failed", "timeout", "unscored"})
"""What `--resume auto` does not run again."""
GOOD: frozenset[JobStatus] = frozenset({"ok"})
UNFINISHED: tuple[JobStatus, ...] = ("failed", "timeout", "cancelled", "unscored")


@dataclass
class RunSummary:
    """How a run ended."""

    run_dir: Path
    counts: dict[str, int]
    exit_code: int
    stopped_by: str = ""
    """`interrupt`, `cancelled: <reason>`, `fail_fast`, `run budget:<axis>`, or nothing."""
    statuses: dict[str, JobStatus] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """The run's id, which is its folder's name."""
        return self.run_dir.name


class Runner:
    """One process of a run: from what is finished already to what can be finished now."""

    def __init__(
        self,
        plan: Plan,
        host: PluginHost,
        layout: RunLayout,
        *,
        reporter: Reporter,
        resume: Resume,
        error_type: str | None = None,
        known: Trust | None = None,
        means: Means | None = None,
    ) -> None:
        """Prepare.

        `error_type` narrows `resume="failed"` to the jobs that failed with this type of error; `known` is what the journals told before
        the run was locked. `means` are time, threads and processes, where they are not this machine's.
        """
        self._means = means or Means()
        self._plan = plan
        self._host = host
        self._layout = layout
        self._reporter = reporter
        self._resume = resume
        self._error_type = error_type
        self._known = known
        self._closing = Closing(layout)
        self._trained: Mapping[str, TrainedRecord] = {}
        self._statuses: dict[str, JobStatus] = {}
        self._breaker = RunBreaker()
        self._control = RunControl(layout, ids_of(plan.jobs))
        self._stopped_by = ""
        self._overshoot: dict[Axis, float] | None = None
        self._breaks = Breaks(layout)
        self._underway = Underway()
        self._retries = Retries(plan.config.retries, clock=self._means.clock)
        self._reserve: Reserve | None = None
        self._relatives: Mapping[str, tuple[str, ...]] = {}
        self._telling = threading.Lock()
        self._started, self._used = self._means.clock(), cpu_seconds()

    def run(self, services: Callable[[], RunServices]) -> RunSummary:
        """Run what is to be run; `services` opens gateway and sandboxes only when there is something to run."""
        tables = TableWriter(self._layout, self._plan.jobs, clock=self._means.clock)
        with disk_errors_explained(self._layout), Journal(self._layout) as journal:
            todo = self._todo(journal, tables)
            self._reporter.run_started(self._layout.path, len(self._plan.jobs))
            self._host.observe("tracebench_run_started", run_dir=self._layout.path)
            if todo:
                self._run_jobs(todo, journal=journal, tables=tables, open_services=services)
            summary = self._summary()
            took, cpu = self._means.clock() - self._started, cpu_seconds() - self._used
            end = RunEnd(summary.exit_code, took, cpu, self._overshoot)
            self._closing.close(end, journal=journal, tables=tables, counts=summary.counts)
        self._reporter.run_finished(self._layout.path, summary.counts)
        self._host.observe("tracebench_run_finished", run_dir=self._layout.path)
        return summary

    def _todo(self, journal: Journal, tables: TableWriter) -> list[JobSpec]:
        if self._resume == "none":
            return list(self._plan.jobs)
        trust = read_trust(self._layout, known=self._known)
        settled = settle(self._layout.path, ids_of(self._plan.jobs), journal=journal, known=trust)
        for job_id, why in settled.distrusted.items():
            log.warning("job %s is run again: %s", job_id, why)
        self._statuses = {i: s for i, s in settled.finished.items() if self._is_kept(i, s)}
        tables.load(self._statuses)
        self._control.finished_before(iter(self._statuses))
        self._relatives = relatives(self._plan.jobs, self._plan.tasks, self._statuses)
        self._trained = settled.trained
        todo = chosen_of(self._plan.jobs, lambda job_id: job_id not in self._statuses)
        self._closing.settled(settled, trust, is_idle=not todo)
        return todo

    def _is_kept(self, job_id: str, status: JobStatus) -> bool:
        """Say whether `resume` leaves a job as it ended, or runs it again."""
        if self._resume != "failed" or status not in FINISHED:
            return status in FINISHED
        if status in GOOD or self._error_type is None:
            return status in GOOD
        error = read_result(self._layout.job(job_id)).result.error
        return error is None or error.type != self._error_type

    def _run_jobs(
        self,
        todo: list[JobSpec],
        *,
        journal: Journal,
        tables: TableWriter,
        open_services: Callable[[], RunServices],
    ) -> None:
        by_id = {job.job_id: job for job in todo}
        with (
            terminated_is_interrupted(),
            open_services() as around,
            self._means.channel(self._layout, self._control, log.warning),
        ):
            executor = self._means.executor(self._host, self._plan.config.executor)
            self._control.executor = executor

            def conclude(ended: Sequence[JobEnd]) -> None:
                self._conclude(ended, by_id=by_id, around=around, journal=journal, tables=tables)

            committer = self._means.committer(conclude)
            known = self._trained if not self._is_wrapped else {}
            trainings = Trainings(self._layout, journal, known)
            if any(axis != "seconds" for axis in self._plan.config.run_budget.caps()):
                self._reserve = Reserve(self._plan.config.run_budget, around.used())
            try:
                while todo:
                    ends = executor.run(
                        self._orders(todo, around, committer, journal=journal, trainings=trainings),
                        setting=around.setting,
                    )
                    todo = self._follow(ends, around=around, committer=committer, trainings=trainings)
                    committer.drain()
                    todo += [by_id[job_id] for job_id in self._retries.take()]
            except KeyboardInterrupt:
                self._stopped_by = "interrupt"
                around.supervisor.hurry()
            finally:
                committer.close()
                self._used -= cpu_seconds(executor) - cpu_seconds()
                self._control.executor = None
                del executor  # what it keeps for a next call ends now: its logs are whole before they are indexed
                if self._plan.config.run_budget.caps():
                    self._overshoot = around.overshoot()

    def _follow(
        self, ends: Generator[JobEnd], *, around: RunServices, committer: Committer, trainings: Trainings
    ) -> list[JobSpec]:
        """Hand over jobs as they end; return those that are to be run again, because what they stood on broke."""
        again = []
        try:
            for end in filter(self._underway.is_news, ends):
                job = end.order.job
                spoilt = around.is_spoiled(job)
                broke = spoilt or end.exit == "lost"
                if end.exit == "trained":
                    if not broke and not self._is_wrapped:
                        trainings.ended(job, how=end.detail, attempt=around.attempt(job))
                elif self._control.reason(job.job_id) is not None and end.exit != "done":
                    if spoilt:
                        self._layout.job(job.job_id).fresh()  # what broke may have passed for a measurement
                    committer.put(Cancelled(end.order))
                elif broke and self._breaks.is_run_again(job.job_id):
                    self._control.ended(job.job_id, finished=False)
                    self._settle_account(job, None)
                    again.append(job)
                elif spoilt and end.exit != "cancelled":
                    committer.put(self._breaks.give_up(end, trainings))
                elif around.spent() is None and trainings.is_scored_again(end):  # else it would be refused again
                    self._control.ended(job.job_id, finished=False)
                    self._settle_account(job, None)
                    again.append(job)
                else:
                    committer.put(end)
        finally:
            ends.close()
        return again

    def _orders(
        self,
        todo: list[JobSpec],
        around: RunServices,
        committer: Committer,
        *,
        journal: Journal,
        trainings: Trainings,
    ) -> Iterator[JobOrder | None]:
        held_back: dict[str, Axis] = {}
        for job in todo:
            if self._plan.config.fail_fast:
                committer.drain()  # what the last job was decides whether there is a next one
            while self._must_wait(job, around) and not self._stopped_by:
                yield None
            self._stopped_by = self._stopped_by or self._control.stopped_by
            if self._stopped_by:
                around.supervisor.hurry()
                return
            if self._control.reason(job.job_id) is not None:
                self._layout.job(job.job_id).fresh()
                committer.put(Cancelled(JobOrder(job=job, run_dir=str(self._layout.path))))
                continue
            if axis := around.spent():
                self._stopped_by = f"run budget:{axis}"
                return
            if self._reserve is not None and (beyond := self._reserve.beyond(job)):
                held_back[job.job_id] = beyond
                continue
            if self._reserve is not None:
                self._reserve.started(job)
            trained = trainings.take_up(job)
            with self._telling:
                journal.job_started(job.job_id, is_trained=trained is not None, leans=around.leans(job))
                self._reporter.job_started(job)
            secret = journal.secret(f"scoring {job.job_id}")
            order = around.order(job, trained, relatives=self._relatives.get(job.job_id, ()), secret=secret)
            self._control.started(job.job_id)
            self._underway.begins(order)
            yield order
        if held_back:
            axis = next(iter(held_back.values()))
            left = f"what is left of the run's budget ({axis})"
            log.warning("jobs that are not started: %d; %s does not pay for one", len(held_back), left)
            self._stopped_by = self._stopped_by or f"run budget:{axis}"

    @property
    def _is_wrapped(self) -> bool:
        """Whether a plugin stands around the training of each job, and may have had its result at hand."""
        return self._host.has_observers("tracebench_run_job")

    def _must_wait(self, job: JobSpec, around: RunServices) -> bool:
        if self._control.stopped_by:
            return False
        is_held = self._control.is_paused or self._breaks.must_wait(job.job_id, self._underway.jobs)
        is_held = is_held or (self._reserve is not None and self._reserve.must_wait(job))
        return is_held or around.is_paused or not self._retries.is_due(job.job_id)

    def _settle_account(self, job: JobSpec, result: JobResult | None) -> None:
        if self._reserve is not None:
            self._reserve.ended(job, result)

    def _conclude(
        self,
        ended: Sequence[JobEnd],
        *,
        by_id: Mapping[str, JobSpec],
        around: RunServices,
        journal: Journal,
        tables: TableWriter,
    ) -> None:
        """Declare jobs finished that have ended since the last time, and tell everybody. Called in the committer's thread."""
        finished = []
        for end in ended:
            job = by_id[end.order.job.job_id]
            try:
                stored = self._stored_result(job, end, around=around)
                self._settle_account(job, stored.result if stored is not None else None)
            except Exception as err:  # noqa: BLE001 - whatever a job's files hold, it ends that job alone
                stored = self._broken(job, err)
            if stored is not None and not self._is_stopping(stored.result) and self._retries.wants(stored.result):
                self._control.ended(job.job_id, finished=False)
                around.release(job)
                self._layout.job(job.job_id).fresh()  # what failed is put aside, and is no end of the job
                continue
            self._control.ended(job.job_id, finished=stored is not None)
            if stored is not None:
                finished.append((job, stored))
        if not self._layout.manifest.exists():
            raise RunDirError(
                f"Run directory `{self._layout.path}` was deleted while the run went on, and what was finished with it.",
                hint="trace-bench run --config FILE",
            )
        records = [EndRecord(job.job_id, stored.result.status, stored.digest) for job, stored in finished]
        commit(self._layout, records, journal=journal)
        for job, stored in finished:
            if stored.result.status != "unscored":  # else its scoring goes on in its account
                around.release(job)
            self._take(job, stored.result, tables=tables)
        tables.maybe_write(self._means.clock())

    def _broken(self, job: JobSpec, error: Exception) -> StoredResult:
        """Return the result of a job whose own cannot be made; what is wrong with the disk, or the whole run, is raised."""
        if (isinstance(error, OSError) and error.errno in UNWRITABLE) or not self._layout.manifest.exists():
            raise error
        log.warning("job %s failed by what its files hold: %s", job.job_id, error)
        layout = self._layout.job(job.job_id)
        conclude_broken(layout, job, error=error)
        self._settle_account(job, None)
        return read_result(layout)

    def _is_stopping(self, result: JobResult) -> bool:
        return bool(self._stopped_by or self._control.stopped_by) or result.stop_reason.startswith("run budget")

    def _stored_result(self, job: JobSpec, end: JobEnd, *, around: RunServices) -> StoredResult | None:
        """Return an ended job's result; None when it was stopped with the run, so that it is to be run again."""
        layout = self._layout.job(job.job_id)
        if end.exit == "cancelled":
            reason = self._control.reason(job.job_id)
            if reason is None:
                return None
            conclude_cancelled(layout, job, reason=reason, calls_after=lambda last: around.calls(job, after=last))
            return read_result(layout)
        if isinstance(end, Spoilt) and not end.is_trained:
            raise SpoiltError(end.detail)
        if end.exit != "done":
            conclude_lost(layout, job, detail=end.detail, ended=end.order.ended, is_scoring=end.order.phase == "score")
        return read_result(layout)

    def _take(self, job: JobSpec, result: JobResult, *, tables: TableWriter) -> None:
        self._statuses[job.job_id] = result.status
        tables.add(job, result)
        with self._telling:
            self._reporter.job_finished(job, result)
        if result.stop_reason.startswith("run budget"):
            self._stopped_by = self._stopped_by or result.stop_reason
        if self._breaker.adds_up(result):
            self._stopped_by = self._stopped_by or "no model answers"
        if result.status in {"failed", "unscored"} and self._plan.config.fail_fast:
            self._stopped_by = self._stopped_by or "fail_fast"

    def _summary(self) -> RunSummary:
        self._stopped_by = self._stopped_by or self._control.stopped_by
        counts: Counter[JobStatus] = Counter(self._statuses.get(i, "not_run") for i in ids_of(self._plan.jobs))
        return RunSummary(
            run_dir=self._layout.path,
            counts={str(status): n for status, n in sorted(counts.items())},
            exit_code=exit_code(counts, stopped_by=self._stopped_by)
            or int(bool(self._known and harm(self._layout, trust=self._known))),
            stopped_by=self._stopped_by,
            statuses=self._statuses,
        )


def exit_code(counts: Mapping[JobStatus, int], *, stopped_by: str) -> int:
    """Return the exit code that a run's counts mean.

    0 ok, 1 failed or cancelled jobs, 3 every job was skipped, 5 run budget reached, 130 interrupted.
    """
    if stopped_by == "interrupt" or stopped_by.startswith("cancelled"):
        return 130
    if stopped_by.startswith("run budget"):
        return 5
    if any(counts.get(status, 0) for status in UNFINISHED):
        return 1
    return 3 if counts.get("skipped", 0) and counts["skipped"] == sum(counts.values()) else 0
