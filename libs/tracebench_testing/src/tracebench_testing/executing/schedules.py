"""Random schedules: orders, holds, cancels, deaths, kills of what holds jobs, and closing, held against a model and the core's executor."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

from tracebench_core.contracts import Executor
from tracebench_testing.executing.drive import Drive, Say
from tracebench_testing.executing.signs import BrokenPromiseError, wait_for

JOBS = 6
MOST_WORKERS = 3
MOST_ROUNDS = 8
"""Calls of `run` until every job has ended; more than any schedule needs."""
ACTS = ("go", "go", "go", "die", "cancel", "cancel later", "kill", "close")


def go_through(
    build: Callable[[], Executor], reference: Callable[[], Executor], folder: Path, say: Say, *, seed: int
) -> None:
    """Go through the schedule of a seed with an executor, and with the reference; jobs that ended alike must have the same results."""
    mine, theirs = (
        Schedule(made, folder / name, say, seed=seed).go_through()
        for name, made in (("mine", build), ("reference", reference))
    )
    for job in mine.keys() & theirs.keys():
        (act, score), (other_act, other_score) = mine[job], theirs[job]
        if act == other_act and score != other_score:
            say(f"schedule {seed}: a job's best score is {score}, and {other_score} with the core's own executor")


class Schedule:
    """One schedule, and the model: which ends a job may have, by what was done to it."""

    def __init__(self, build: Callable[[], Executor], folder: Path, say: Say, *, seed: int) -> None:
        folder.mkdir()
        self._name = f"schedule {seed}"
        self._rng = Random(seed)  # noqa: S311 - no secret
        self._say: Say = lambda fault: say(f"{self._name}: {fault}")
        workers = self._rng.randint(1, MOST_WORKERS)
        self._drive = Drive(build, folder, jobs=JOBS, workers=workers, say=self._say)
        self._drive.before_taken, self._drive.after_end = self._before_taken, self._after_end
        self._done_to: dict[int, str] = {}
        self._cancelled: set[int] = set()
        self._shaken: set[int] = set()
        """Jobs that were out when something that holds jobs was killed: they may be lost."""
        self._left = set(range(1, JOBS + 1))
        self._is_closing = False

    def go_through(self) -> Mapping[int, tuple[str, float | None]]:
        """Run until every job has ended; return for those that were not cancelled what was done to them, and their best score."""
        for _ in range(MOST_ROUNDS):
            seeds: list[int | None] = []
            for seed in sorted(self._left, key=lambda _: self._rng.random()):
                seeds += [None] * (self._rng.random() < 0.3) + [seed]  # noqa: PLR2004 - now and then
            self._is_closing = False
            self._drive.run(seeds, self._script)
            if not self._left:
                break
        else:
            self._say("jobs that were lost or ended with the run are not run to their end when they are ordered again")
        scores = self._drive.scores()
        return {s: (self._done_to.get(s, ""), score) for s, score in scores.items() if s not in self._cancelled}

    def _script(self) -> None:
        while waiting := wait_for(self._waiting, "jobs that were ordered neither begin nor end")[0]:
            self._act(self._rng.choice(ACTS), waiting)
        if self._is_closing:
            wait_for(self._drive.is_finished.is_set, "closed in the middle of a run, it does not return")

    def _waiting(self) -> list[int]:
        """Return a job that waits for word; 0 when none will any more; nothing while one may."""
        for seed in [] if self._is_closing else [*self._drive.out]:
            if seed not in self._done_to and seed not in self._cancelled and self._drive.signs.begun(seed):
                return [seed]
        return [0] if self._is_closing or self._drive.is_finished.is_set() else []

    def _act(self, act: str, seed: int) -> None:
        drive = self._drive
        begun = drive.begun(seed, "")
        if act == "cancel":
            self._cancelled.add(seed)
            drive.cancel(seed)
        elif act == "cancel later" and (later := self._left - {*drive.out} - self._cancelled):
            self._cancelled.add(chosen := min(later))
            if chosen in drive.out:  # it was taken just now
                drive.cancel(chosen)
        elif act == "kill" and begun.holder.pid != os.getpid():
            self._shaken |= {*drive.out}
            self._done_to[seed] = "kill"
            with suppress(ProcessLookupError):  # it was killed under another job of its
                os.kill(begun.holder.pid, signal.SIGKILL)
            end = drive.ended(seed, "it tells no end of a job whose holder was killed")
            if end != "lost":
                raise BrokenPromiseError(f"a job whose holder was killed ends as `{end}`")
        else:
            self._is_closing = act == "close"
            self._done_to[seed] = "die" if act == "die" else "go"
            drive.signs.say(seed, self._done_to[seed])

    def _before_taken(self, seed: int) -> None:
        self._done_to.pop(seed, None)
        if seed in self._cancelled:
            self._drive.cancel(seed)

    def _after_end(self, seed: int, end: str) -> bool:
        if end == "trained":
            return False
        allowed = {"cancelled"} if seed in self._cancelled else {"done"} if seed in self._done_to else set()
        if seed in self._shaken:
            allowed |= {"lost"}
            self._shaken.discard(seed)
        if end not in allowed:
            self._say(
                f"a job ends as `{end}` to which was done: {self._done_to.get(seed, 'cancel' if seed in self._cancelled else '-')}"
            )
        if end != "lost" or seed in self._cancelled:
            self._left.discard(seed)
        return self._is_closing
