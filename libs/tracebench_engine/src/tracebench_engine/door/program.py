"""Run a program of its own as the trainer of a job: start it, serve its door, end it with the job or with the budget."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted, ModelError, ProgramError
from tracebench_engine.door.door import CLIENT_FOLDER, Door
from tracebench_engine.door.held import Files, Hold, Network, start_held
from tracebench_sandbox.exchange import signal_name

TOLD_AFTER = 60.0
"""Seconds without a model call and an evaluation after which it is said."""


class Silence:
    """Watches one program of a job by what the job has used."""

    def __init__(self, problem: Problem, name: str, *, limit: float | None) -> None:
        """`limit`: seconds after which the program is to be ended; None for never."""
        self._problem = problem
        self._name = name
        self._limit = limit
        self._told_after = TOLD_AFTER if limit is None else min(TOLD_AFTER, limit / 2)
        self._last = self._amounts()
        self._since = time.monotonic()
        self._is_told = False
        self.words = ""
        """Why the program is to be ended; empty while it is not."""

    def look(self) -> bool:
        """Look, and tell whether the program is to be ended."""
        now, amounts = time.monotonic(), self._amounts()
        if amounts != self._last:
            self._last, self._since = amounts, now
            if self._is_told:
                self._is_told = False
                self._problem.activity("")
            return False
        quiet = now - self._since
        if self._limit is not None and quiet >= self._limit:
            self.words = f"{self._what(self._limit)}, and was ended"
        elif quiet >= self._told_after and not self._is_told:
            self._is_told = True
            words = f"{self._what(self._told_after)}{self._until()}"
            self._problem.activity(words, notice=True)
            print(f"trace-bench: {words}", file=sys.stderr, flush=True)  # noqa: T201 - the job's log
        return bool(self.words)

    def _what(self, seconds: float) -> str:
        calls, evaluations = self._last
        if calls or evaluations:
            return f"`{self._name}` has had no answer of a model, and has evaluated nothing, for {seconds:g} s"
        return f"`{self._name}` has asked no model and evaluated nothing in its first {seconds:g} s"

    def _until(self) -> str:
        return "" if self._limit is None else f"; it is ended after {self._limit:g} s"

    def _amounts(self) -> tuple[int, int]:
        used = self._problem.budget.used()
        return used.llm_calls, used.evaluations


SEEN_DOOR = Path("/run/trace-bench")
"""Where a program with a root of its own finds the door's folder."""
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
"""What a library's program may know of the environment that it is started from; all else, keys above all, stays there."""
PLACES = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
}
LOOK_SECONDS = 1.0
"""Longest pause between two questions to the gateway whether it turned the program away."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to start, where, and how long it may go on against a spent budget."""

    argv: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str]
    """Its environment, to which the variables that lead to door and models are added."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Variables that stand above all others."""
    name: str = "program"
    """What results call it."""
    network: Network = "open"
    """`gateway`: of the network it reaches the run's models, and nothing else."""
    files: Files = "host"
    """`folder`: of the host's files it finds the system, what is named here, and its own folder, which alone it may write to."""
    readable: tuple[str, ...] = ()
    """Further files and folders that it finds there, by absolute names."""
    copied: tuple[str, ...] = ()
    """Files and folders below the user's home that are copied to the program's."""
    shown: tuple[Path, ...] = ()
    """What its own start needs."""
    grace: float = 10.0
    """Seconds that the program may go on once a cap has turned it away; then it is ended."""
    silence: float | None = None
    """Seconds without a model call and an evaluation after which it is ended; None for never."""


def bare_environ(
    folder: Path, environ: Mapping[str, str], *, places: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return an environment with nothing of the user's, and folders of its own below `folder`, which are made; `places` names more."""
    bare = {"PATH": os.defpath, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    bare |= {name: environ[name] for name in KEPT if name in environ}
    for name, place in {**PLACES, **(places or {})}.items():
        bare[name] = str(folder / place)
        (folder / place).mkdir(parents=True, exist_ok=True)
    return bare


def run_program(problem: Problem, program: Program) -> int:
    """Have the program train, and return its exit code once it has ended; 0 where a spent budget ended it.

    Raises:
        ProgramError: when it cannot be started, or was ended because it asked for nothing.
    """
    with Door(problem) as door, ExitStack() as begun:
        process = _start(problem, door, program)
        begun.callback(_end, process)
        pidfd = os.pidfd_open(process.pid)
        begun.callback(os.close, pidfd)
        silence = Silence(problem, program.name, limit=program.silence)
        door.serve(until=_Watch(problem, door, process, silence, grace=program.grace).is_over, wake=pidfd)
    if silence.words:
        raise ProgramError(f"{silence.words}; what it wrote is in the job's `stdout.log`.")
    return 0 if problem.budget.refusal() is not None else process.returncode


def describe_exit(code: int) -> str:
    """Return an exit code in words."""
    return f"exit code {code}" if code >= 0 else f"signal {signal_name(-code).removeprefix('signal ')}"


def _start(problem: Problem, door: Door, program: Program) -> subprocess.Popen[bytes]:
    path = door.environ({**program.environ, **program.own})
    environ = {**program.environ, **model_variables(problem), **program.own, **path}
    hold = Hold(
        program.name,
        network=program.network,
        files=program.files,
        readable=program.readable,
        copied=program.copied,
        shown=(CLIENT_FOLDER, *program.shown),
        placed=((door.folder, SEEN_DOOR),),
        within=door.environ({**program.environ, **program.own}, folder=SEEN_DOOR),
    )
    try:
        started = find_program(program.argv[0], program.folder, path=environ.get("PATH", os.defpath))
        return start_held(problem, [started, *program.argv[1:]], hold, folder=program.folder, environ=environ)
    except OSError as err:
        raise ProgramError(f"`{program.argv[0]}` cannot be started in `{program.folder}`: {err.strerror}.") from err


def find_program(name: str, folder: Path, *, path: str) -> str:
    """Return what a program's name stands for in a folder; raises the OSError that starting it would raise."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if os.sep in name:
        place = folder / name
        if not place.is_file():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not os.access(place, os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return name
    found = shutil.which(name, path=path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return found


class _Watch:
    """Tells when serving is over: the program has ended, or goes on although a cap has turned it away."""

    def __init__(
        self, problem: Problem, door: Door, process: subprocess.Popen[bytes], silence: Silence, *, grace: float
    ) -> None:
        self._problem = problem
        self._silence = silence
        self._door = door
        self._process = process
        self._grace = grace
        self._pause = min(LOOK_SECONDS, grace / 2)
        self._refused_at: float | None = None
        self._next_look = 0.0

    def is_over(self) -> bool:
        """Ask often; the gateway is asked now and then."""
        if self._process.poll() is not None:
            return True
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + self._pause
            if self._refused_at is None and self._is_refused():
                self._refused_at = now
            if self._refused_at is None and self._silence.look():
                return True
        since = self._door.refused_at or self._refused_at
        return since is not None and now - since >= self._grace

    def _is_refused(self) -> bool:
        budget = self._problem.budget
        try:
            budget.check_time()
        except BudgetExhausted:
            return True
        return budget.refusal() is not None


def model_variables(problem: Problem) -> dict[str, str]:
    """Return the variables by which the SDKs of OpenAI, Anthropic and Google, litellm and most frameworks find their server."""
    try:
        door = problem.endpoint("optimizer")
    except ModelError:
        return {}
    key, bare = door.api_key.get_secret_value(), door.base_url.removesuffix("/v1")
    return {
        "OPENAI_BASE_URL": door.base_url,
        "OPENAI_API_BASE": door.base_url,
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": bare,
        "ANTHROPIC_API_KEY": key,
        "GOOGLE_GEMINI_BASE_URL": bare,
        "GEMINI_API_KEY": key,
        "TRACEBENCH_MODEL": door.model,
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started in its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
