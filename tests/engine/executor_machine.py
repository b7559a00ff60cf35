"""Any order of orders, holds, cancels, deaths, kills and closings, step by step, against a model of what an executor must tell.

Hypothesis draws the steps and shortens those that break a promise; seeded schedules of the kit go through whole runs instead. Jobs wait for
word, so that each step has one right answer; the best score of a job that ended by itself is that which the reference found for it.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tracebench_core.contracts import Executor
from tracebench_core.specs import JobOrder
from tracebench_engine.api import load_ref, open_host
from tracebench_testing.executing.drive import Drive
from tracebench_testing.executing.signs import wait_for

JOBS = 6
LOOK = 0.005
STEPS = settings(max_examples=12, stateful_step_count=14, deadline=None, suppress_health_check=[*HealthCheck])


def build(name: str) -> Executor:
    """Return an executor by its name."""
    made: Executor = load_ref(open_host().component("executor", name).loader, owner=name)()
    return made


class Stepwise(Drive):
    """Hands over an order when it is told to, and holds the run otherwise; the executor is asked in a thread of its own."""

    def __init__(self, make: Callable[[], Executor], folder: Path, *, workers: int, say: Callable[[str], None]) -> None:
        super().__init__(make, folder, jobs=JOBS, workers=workers, say=say)
        self.workers = workers
        self.waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._is_done = threading.Event()
        self._thread = threading.Thread()

    def begin(self) -> None:
        """Begin to run."""
        self._is_done.clear()
        self._thread = threading.Thread(target=self.run, args=([], self._is_done.wait), daemon=True)
        self._thread.start()

    def order(self, seed: int) -> None:
        """Order a job, for the first time or again."""
        self.signs.forget(seed)
        self._last.pop(seed, None)
        self._processes.pop(seed, None)
        self.waiting.put(seed)

    def finish(self) -> None:
        """Give no more orders, and wait for the end of all that were given; or for the end of a run that was closed."""
        self._is_done.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), "the executor does not end"

    def _handed(self, _seeds: Sequence[int | None]) -> Iterator[JobOrder | None]:
        while not self._is_done.is_set():
            try:
                seed = self.waiting.get_nowait()
            except queue.Empty:
                time.sleep(LOOK)
                yield None
                continue
            if len(self.out) >= self.workers:
                self._say(f"it takes an order while {len(self.out)} jobs run")
            self.taken.append(seed)
            self.out[seed] = "train"
            yield self._orders[seed]


@cache
def reference() -> Mapping[int, float | None]:
    """Return the best score of each job, of the core's own executor."""
    home, folder = Path.cwd(), Path(tempfile.mkdtemp(prefix="reference-"))
    faults: list[str] = []
    try:
        drive = Stepwise(lambda: build("local"), folder, workers=2, say=faults.append)
        drive.begin()
        for seed in range(1, JOBS + 1):
            drive.order(seed)
            drive.signs.say(seed, "go")
            drive.ended(seed, "the reference does not end a job")
        drive.finish()
        assert not faults, faults
        return drive.scores()
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)


class ExecutorMachine(RuleBasedStateMachine):
    """One executor; a subclass names it."""

    name = "local"

    def __init__(self) -> None:
        super().__init__()
        self.scores = reference()
        self.home = Path.cwd()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.faults: list[str] = []
        self.running: set[int] = set()
        self.queued: list[int] = []
        self.cancelled: set[int] = set()
        self.over: dict[int, str] = {}
        """What was done to each job that has ended for good: `go`, `die` or `cancel`."""

    @initialize(workers=st.integers(1, 3))
    def start(self, workers: int) -> None:
        self.drive = Stepwise(lambda: build(self.name), self.folder, workers=workers, say=self.faults.append)
        self.drive.begin()

    @property
    def left(self) -> list[int]:
        """Jobs that may be ordered."""
        return [seed for seed in range(1, JOBS + 1) if seed not in {*self.running, *self.queued, *self.over}]

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def order(self, data: st.DataObject) -> None:
        seed = data.draw(st.sampled_from(self.left), label="order")
        self.drive.order(seed)
        self.queued.append(seed)
        self._settle()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), word=st.sampled_from(["go", "go", "die"]))
    def say(self, data: st.DataObject, word: str) -> None:
        seed = data.draw(st.sampled_from(sorted(self.running)), label=word)
        self.drive.signs.say(seed, word)
        self._demand(seed, "done")
        self.over[seed] = word
        self._settle()

    @precondition(lambda self: self.running or self.queued)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        seed = data.draw(st.sampled_from(sorted(self.running) + self.queued), label="cancel")
        self.cancelled.add(seed)
        self.drive.cancel(seed)
        if seed in self.running:
            self._demand(seed, "cancelled")
            self.over[seed] = "cancel"
            self._settle()

    @precondition(lambda self: self.left and not self.cancelled)
    @rule(data=st.data())
    def cancel_before_it_is_ordered(self, data: st.DataObject) -> None:
        seed = data.draw(st.sampled_from(self.left), label="cancel early")
        self.cancelled.add(seed)
        self.drive.cancel(seed)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def kill(self, data: st.DataObject) -> None:
        """Kill what holds a job: that one is lost, and others may be."""
        seed = data.draw(st.sampled_from(sorted(self.running)), label="kill")
        holder = self.drive.begun(seed, "").holder
        assert holder.pid != os.getpid(), "its jobs are children of the runner's own process"
        beside = {s for s in self.running if self.drive.begun(s, "").holder == holder}
        with suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGKILL)
        for each in beside:
            self._demand(each, "lost")
        self._settle()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        """End the run in the middle: nothing of any job is left, and all but the finished ones can be ordered again."""
        seed = data.draw(st.sampled_from(sorted(self.running)), label="close after")
        self.drive.after_end = lambda _seed, end: end != "trained"
        self.drive.signs.say(seed, "go")
        self._demand(seed, "done")
        self.over[seed] = "go"
        self.drive.finish()
        self.drive.after_end = lambda _seed, _end: False
        while not self.drive.waiting.empty():
            self.drive.waiting.get()
        self.running.clear()
        self.queued.clear()
        self.drive.begin()
        for cancelled in self.cancelled:  # another run's executor has not heard of them
            self.drive.cancel(cancelled)

    @precondition(lambda self: not (self.left or self.running))
    @rule()
    def hold(self) -> None:
        """Give nothing for a moment when all jobs have ended: nothing more is told."""
        ends = len(self.drive.ends)
        time.sleep(10 * LOOK)
        assert len(self.drive.ends) == ends, "an end is told to which nothing was done"

    @invariant()
    def keeps_every_promise(self) -> None:
        assert not self.faults, self.faults

    def teardown(self) -> None:
        try:
            if hasattr(self, "drive"):
                for seed in {*self.running, *self.queued}:
                    self.drive.signs.say(seed, "go")
                for seed in {*self.running, *self.queued}:
                    self.drive.ended(seed, "a job that is let go does not end")
                self.drive.finish()
                found = self.drive.scores()
                for seed, end in self.over.items():
                    if end == "go":
                        assert found[seed] == self.scores[seed], "its results are not those of the core's own executor"
            assert not self.faults, self.faults
        finally:
            os.chdir(self.home)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _demand(self, seed: int, wanted: str) -> None:
        """Hold the end of a job to the model."""
        end = self.drive.ended(seed, f"a job does not end, which is to be `{wanted}`")
        assert end == wanted, f"it ends a job as `{end}`, not as `{wanted}`"
        self.running.discard(seed)

    def _settle(self) -> None:
        """Wait until all have begun that must: as many as there are workers, in the order in which they were ordered."""
        while self.queued and (len(self.running) < self.drive.workers):
            seed = self.queued.pop(0)
            if seed in self.cancelled:
                self._demand(seed, "cancelled")
                self.over[seed] = "cancel"
            else:
                wait_for(partial(self.drive.signs.begun, seed), "a job that was ordered does not begin")
                self.running.add(seed)
