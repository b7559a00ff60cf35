"""Drive an executor: hand it orders one by one, note the ends that it tells, and hold both against what an executor must keep to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tracebench_core.contracts import Executor, JobEnd
from tracebench_core.plugins import HOME
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.api import load_config, plan
from tracebench_engine.api.records import RunLayout, read_result
from tracebench_testing.executing.signs import Begun, BrokenPromiseError, Process, Signs, wait_for, write_world

Say = Callable[[str], None]
ENDS = frozenset({"done", "timeout", "died", "cancelled", "lost", "trained"})


class Drive:
    """Some jobs that wait for word, and one executor that is to run them.

    A script runs in a thread of its own, as the control channel of a run does; the executor is asked in this one, as a runner does.
    """

    def __init__(self, build: Callable[[], Executor], folder: Path, *, jobs: int, workers: int, say: Say) -> None:
        """Write the jobs' world into a folder, which becomes this process's own; `say` is told each fault as it is found."""
        made = plan(load_config(write_world(folder, jobs=jobs)))
        run_dir = folder / "runs" / "r"
        run_dir.mkdir(parents=True, exist_ok=True)
        self._layout = RunLayout(run_dir)
        self._orders = {job.seed: JobOrder(job=job, run_dir=str(run_dir)) for job in made.jobs}
        self._seeds = {order.job.job_id: seed for seed, order in self._orders.items()}
        self._setting = ExecutorSetting(
            run_dir=str(run_dir), workers=workers, environ={**os.environ, HOME: str(folder)}
        )
        self._build = build
        self._say = say
        self._over = threading.Event()
        self._last: dict[int, str] = {}
        self.is_finished = threading.Event()
        """Set when the executor has ended what it was asked to run."""
        self._processes: dict[int, list[Process]] = {}
        self.signs = Signs(folder)
        self.executor = build()
        self.out: dict[int, str] = {}
        """Jobs that the executor has, by seed, with the phase in which they are."""
        self.taken: list[int] = []
        """Seeds in the order in which they were taken."""
        self.ends: list[tuple[int, str]] = []
        """Seed and end, as they were told."""
        self.before_taken: Callable[[int], None] = lambda _seed: None
        """Called with the seed of the order that is about to be handed over."""
        self.after_end: Callable[[int, str], bool] = lambda _seed, _end: False
        """Called with each end; says whether the executor is to be closed now."""

    def run(self, seeds: Sequence[int | None], script: Callable[[], None]) -> None:
        """Have jobs run while the script goes on; None among the seeds: nothing may start until something has ended."""
        self._over.clear()
        self.is_finished.clear()
        for seed in filter(None, seeds):
            self.signs.forget(seed)
            self._last.pop(seed, None)
            self._processes.pop(seed, None)
        conductor = threading.Thread(target=self._conduct, args=(script,), daemon=True)
        conductor.start()
        ends = self.executor.run(self._handed(seeds), setting=self._setting)
        try:
            for end in ends:
                if self._note(end):
                    break
        except KeyboardInterrupt:
            pass  # the script's way to end a run as Ctrl-C does
        finally:
            ends.close()
        for seed in [*self.out]:
            self.demand_gone(seed, "it was closed")
        if self.out:  # closed: nobody asks it again
            self.out.clear()
            self.executor = self._build()
        self.is_finished.set()
        conductor.join()

    def cancel(self, seed: int) -> None:
        """Have one job ended."""
        self.executor.cancel(self._orders[seed].job.job_id)

    def begun(self, seed: int, otherwise: str) -> Begun:
        """Wait until a job has begun."""
        found = wait_for(lambda: self.signs.begun(seed), otherwise)
        self._processes[seed] = [found.job, found.stray]
        return found

    def ended(self, seed: int, otherwise: str) -> str:
        """Wait for the end of a job that was taken, or is yet to be, and return it."""
        return wait_for(lambda: self._last.get(seed), otherwise)

    def scores(self) -> Mapping[int, float | None]:
        """Return the best scores of the jobs that have results, by seed."""
        found = {}
        for seed, order in self._orders.items():
            if (job := self._layout.job(order.job.job_id)).results.exists():
                found[seed] = read_result(job).result.score_val_best
        return found

    def demand_gone(self, seed: int, when: str) -> None:
        """Hold an executor to it that nothing of a job is left."""
        if begun := self.signs.begun(seed):
            self._processes.setdefault(seed, [begun.job, begun.stray])
        names = ("the job's own process", "a process that the job had started")
        for process, name in zip(self._processes.pop(seed, ()), names, strict=False):
            if process.is_there():
                self._say(f"{name} is still there after {when}")

    def _let_die(self, seed: int) -> None:
        """Give a job whose holder was killed moments to end, and kill what it had started: whose business that was is gone."""
        if begun := self.signs.begun(seed):
            begun.stray.kill()
            try:
                wait_for(
                    lambda: not (begun.job.is_there() or begun.stray.is_there()), "a job that was told as lost goes on"
                )
            except BrokenPromiseError as err:
                self._say(str(err))

    def _conduct(self, script: Callable[[], None]) -> None:
        try:
            script()
        except BrokenPromiseError as err:
            self._say(str(err))
        finally:
            self._over.set()
            for seed in self._orders:
                self.signs.say(seed, "go")

    def _handed(self, seeds: Sequence[int | None]) -> Iterator[JobOrder | None]:
        for seed in seeds:
            if len(self.out) >= self._setting.workers:
                self._say(
                    f"it takes an order while {len(self.out)} jobs run, and `setting.workers` is {self._setting.workers}"
                )
            if seed is None:
                told = len(self.ends)
                while self.out and len(self.ends) == told and not self._over.is_set():
                    yield None
                continue
            self.taken.append(seed)
            self.out[seed] = "train"
            self.before_taken(seed)
            if self._over.is_set():
                self.signs.say(seed, "go")
            yield self._orders[seed]

    def _note(self, end: JobEnd) -> bool:
        """Note an end; return whether the executor is to be closed now."""
        job_id = end.order.job.job_id
        seed = self._seeds.get(job_id, 0)
        phase = self.out.get(seed)
        if end.exit not in ENDS:
            self._say(f"it tells an end `{end.exit}`, which is none")
        elif phase is None:
            self._say("it tells an end of a job that it was not given, or whose end it has told already")
            return False
        elif end.exit == "trained":
            if phase != "train":
                self._say("it tells twice that one job's training is over")
            if end.order.phase != "train":
                self._say("it tells `trained` with the order of the scoring, and not with that of the training")
            self.out[seed] = "score"
        else:
            if end.exit not in {"cancelled", "lost"} and phase == "train":
                self._say(f"it ends a job as `{end.exit}` without asking `next_phase`, so that the job is never scored")
            if end.exit == "done" and not self._layout.job(job_id).results.exists():
                self._say("it ends a job as `done`, and the job has no result")
            del self.out[seed]
        if end.exit == "lost":
            self._let_die(seed)
        self.demand_gone(seed, f"its end `{end.exit}` was told")
        self.ends.append((seed, end.exit))
        if end.exit != "trained":
            self._last[seed] = end.exit
        return self.after_end(seed, end.exit)
