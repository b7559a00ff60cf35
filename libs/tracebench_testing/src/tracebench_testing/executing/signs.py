"""Jobs that say when they have begun and wait for word, by files: what happens in which order is then a matter of the script alone."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from tracebench_core.errors import UsageError

VARIABLE = "TRACEBENCH_KIT_PATIENCE"


def _patience() -> float:
    told = os.environ.get(VARIABLE) or "60"
    try:
        seconds = float(told)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"`{VARIABLE}` is `{told}`, which is no number of seconds.", hint=f"export {VARIABLE}=60")
    return seconds


PATIENCE = _patience()
"""Seconds in which what an executor must do has been done, on a machine that is busy."""
LOOK = 0.01
CONFIG = """
run_id: r
seeds: [{seeds}]
tasks: [internal:numeric_param]
trainers: ["./waits.py:Waits"]
"""
WAITS = '''
import os, signal, subprocess, sys, time
from pathlib import Path

SIGNS = Path(__file__).resolve().parent / "signs"
STRAY = "import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"

class Waits:
    """Evaluates twice, and between the two waits for word with a process beside it that left its session."""

    def __init__(self, settings): ...

    def train(self, problem):
        problem.evaluate(problem.initial)
        stray = subprocess.Popen([sys.executable, "-S", "-c", STRAY], stdout=subprocess.PIPE)
        stray.stdout.readline()
        draft = SIGNS / f".{problem.seed}"
        draft.write_text(f"{os.getpid()} {os.getppid()} {stray.pid}")
        draft.rename(SIGNS / f"begun-{problem.seed}")
        word = SIGNS / f"word-{problem.seed}"
        while not word.exists():
            time.sleep(0.01)
        if word.read_text() == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        problem.evaluate({problem.parameters[0].name: problem.seed / 100})
'''
T = TypeVar("T")


class BrokenPromiseError(Exception):
    """What the executor under test does not do, in words."""


class Process(NamedTuple):
    """One process, told from a later one of its number by when it was started."""

    pid: int
    started: str

    def is_there(self) -> bool:
        """Say whether it still runs."""
        return bool(self.started) and started(self.pid) == self.started

    def is_gone(self) -> bool:
        """Say whether it has ended."""
        return not self.is_there()

    def kill(self) -> None:
        """Kill it if it is still there."""
        if self.is_there():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Begun(NamedTuple):
    """The processes of a job that has begun, and the one above them."""

    job: Process
    holder: Process
    stray: Process


class Signs:
    """The files between the jobs and whoever drives them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "signs"
        self._folder.mkdir(exist_ok=True)

    def forget(self, seed: int) -> None:
        """Take back what was said of a job, which is ordered (again)."""
        for name in (f"begun-{seed}", f"word-{seed}"):
            (self._folder / name).unlink(missing_ok=True)

    def say(self, seed: int, word: str) -> None:
        """Tell a job `go` or `die`; from any thread, also where another tells it the same."""
        draft = self._folder / f".word-{seed}-{threading.get_ident()}"
        draft.write_text(word, encoding="utf-8")
        draft.rename(self._folder / f"word-{seed}")

    def begun(self, seed: int) -> Begun | None:
        """Return the processes of a job that waits for word or has had it; None when it has not begun."""
        try:
            pids = (self._folder / f"begun-{seed}").read_text(encoding="utf-8").split()
        except FileNotFoundError:
            return None
        return Begun(*(Process(int(pid), started(int(pid))) for pid in pids))


def started(pid: int) -> str:
    """Return when a process was started, as the kernel counts; empty when it has ended. Source: proc(5), field 22 of `stat`."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return "" if fields[0] in {"Z", "X"} else fields[19]
    return ""


def wait_for(found: Callable[[], T | None], otherwise: str) -> T:
    """Return what is found as soon as it is there.

    Raises:
        BrokenPromiseError: with the words of `otherwise`, when it does not come.
    """
    until = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() >= until:
            raise BrokenPromiseError(otherwise)
        time.sleep(LOOK)
    return value


def write_world(folder: Path, *, jobs: int) -> Path:
    """Write a config of so many jobs, with seeds from 1 on, and the trainer whose jobs wait for word; return the config."""
    (folder / "waits.py").write_text(WAITS, encoding="utf-8")
    config = folder / "run.yaml"
    config.write_text(CONFIG.format(seeds=", ".join(map(str, range(1, jobs + 1)))), encoding="utf-8")
    os.chdir(folder)  # names of files in a config are looked up from here
    return config
