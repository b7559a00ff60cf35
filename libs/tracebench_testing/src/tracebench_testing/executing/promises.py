"""What an executor is for, promise by promise: each is tried with jobs that wait for word, and says in words what is not kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tracebench_core.contracts import Executor
from tracebench_testing.executing.drive import Drive, Say
from tracebench_testing.executing.signs import BrokenPromiseError, Signs, wait_for

Build = Callable[[], Executor]


def overlaps(build: Build, folder: Path, say: Say) -> None:
    """`workers` jobs run at the same time, no more orders are taken than that, and a held run goes on with what it has."""
    drive = Drive(build, folder, jobs=5, workers=2, say=say)

    def script() -> None:
        for seed in (1, 2):
            drive.begun(
                seed,
                f"with `setting.workers` 2 and five orders, no more than {seed - 1} of the jobs run at the same time",
            )
        for seed in (1, 2, 3, 4):
            drive.signs.say(seed, "go")
        for seed in (1, 2, 3, 4):
            drive.ended(seed, "after an order of None it does not go on with the jobs that run")
        drive.begun(5, "after an order of None it does not ask for the next one, and jobs are never run")
        drive.signs.say(5, "go")
        _demand(drive.ended(5, "a job that is let go does not end"), "done", "a job that ends by itself")

    drive.run([1, 2, None, 3, None, None, 4, None, None, 5], script)


def cancels(build: Build, folder: Path, say: Say) -> None:
    """A job that runs, one that is only just ordered, and one between training and scoring: each is ended, and nobody else."""
    drive = Drive(build, folder, jobs=4, workers=2, say=say)

    def before_taken(seed: int) -> None:
        if seed == 3:  # noqa: PLR2004 - it waits: its order is on the way
            drive.cancel(seed)

    def after_end(seed: int, end: str) -> bool:
        if (seed, end) == (4, "trained"):
            drive.cancel(seed)
        return False

    def script() -> None:
        for seed in (1, 2):
            drive.begun(seed, "jobs that were ordered do not begin")
        drive.cancel(1)
        _demand(
            drive.ended(1, "`cancel` of a job that runs does not end it"),
            "cancelled",
            "a job that was cancelled while it ran",
        )
        _demand(
            drive.ended(3, "`cancel` of a job that waits does not end it"),
            "cancelled",
            "a job cancelled while it waited",
        )
        if drive.out.get(2) != "train":
            raise BrokenPromiseError("`cancel` of one job ends another")
        drive.begun(4, "jobs that were ordered do not begin")
        drive.signs.say(4, "go")
        between = drive.ended(4, "`cancel` of a job that waits for its scoring does not end it")
        _demand(between, "cancelled", "a job cancelled before its scoring")
        drive.signs.say(2, "go")
        _demand(drive.ended(2, "a job that is let go does not end"), "done", "a job beside cancelled ones")

    drive.before_taken, drive.after_end = before_taken, after_end
    drive.run([1, 2, 3, 4], script)


def closes(build: Build, folder: Path, say: Say) -> None:
    """Closed after an end, interrupted, or killed with its runner: nothing of a job is left."""
    drive = Drive(build, folder, jobs=3, workers=3, say=say)

    def script() -> None:
        for seed in (1, 2, 3):
            drive.begun(seed, "jobs that were ordered do not begin")
        drive.signs.say(1, "go")

    drive.after_end = lambda _seed, end: end == "done"
    drive.run([1, 2, 3], script)

    def interrupt() -> None:
        for seed in (1, 2):
            drive.begun(seed, "jobs that were ordered do not begin")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        wait_for(drive.is_finished.is_set, "it does not end when it is interrupted")

    drive.run([1, 2], interrupt)
    signs = Signs(folder)
    for seed in (1, 2):
        signs.forget(seed)
    command = [
        sys.executable,
        "-P",
        "-m",
        "tracebench_testing.executing",
        "hold",
        os.environ["TRACEBENCH_DRIVEN"],
        str(folder),
    ]
    with subprocess.Popen(command) as runner:  # noqa: S603 - our own module
        try:
            running = [wait_for(partial(signs.begun, seed), "jobs that were ordered do not begin") for seed in (1, 2)]
        finally:
            runner.send_signal(signal.SIGKILL)
    for begun in running:
        for process in (begun.job, begun.stray):
            wait_for(process.is_gone, "a job goes on when its runner was killed by SIGKILL")


def hold(build: Build, folder: Path, say: Say) -> None:
    """Have two jobs run until this process is killed."""
    drive = Drive(build, folder, jobs=2, workers=2, say=say)
    drive.run([1, 2], _wait_for_ever)


def _wait_for_ever() -> None:
    threading.Event().wait()


def loses(build: Build, folder: Path, say: Say) -> None:
    """What holds a job is killed: the job is told as lost, once, whoever was with it goes on or is lost too, and all can be run again."""
    drive = Drive(build, folder, jobs=3, workers=2, say=say)

    def script() -> None:
        held, _ = (drive.begun(seed, "jobs that were ordered do not begin") for seed in (1, 2))
        if held.holder.pid == os.getpid():
            raise BrokenPromiseError(
                "its jobs are children of the runner's own process, which must go on when one of them breaks it"
            )
        os.kill(held.holder.pid, signal.SIGKILL)
        words = "it tells no end of a job whose holder was killed"
        _demand(drive.ended(1, words), "lost", "a job whose holder was killed by SIGKILL")
        drive.signs.say(2, "go")
        if (end := drive.ended(2, words)) not in {"done", "lost"}:
            raise BrokenPromiseError(f"a job beside one whose holder was killed ends as `{end}`")

    drive.run([1, 2], script)
    again = [seed for seed, end in drive.ends if end == "lost"]
    if not again:
        return

    def finish() -> None:
        for seed in (*again, 3):
            drive.begun(seed, "a job that was lost is not run again, by another call of `run`")
            drive.signs.say(seed, "go")
        for seed in (*again, 3):
            _demand(
                drive.ended(seed, "a job that was lost and is run again does not end"),
                "done",
                "a job that is run again",
            )

    drive.run([*again, 3], finish)


def _demand(end: str, wanted: str, what: str) -> None:
    if end != wanted:
        raise BrokenPromiseError(f"{what} ends as `{end}`, not `{wanted}`")


PROMISES: dict[str, Callable[[Build, Path, Say], None]] = {
    "overlaps": overlaps, "cancels": cancels, "closes": closes, "loses": loses, "hold": hold,
}  # fmt: skip
