"""`Command`: a trainer that is a program of its own, in whatever language, environment or version of Python."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from tracebench_core.builtin.settings import TrainerSettings
from tracebench_core.engine.door import Door
from tracebench_core.errors import BudgetExhausted, ModelError, ProgramError
from tracebench_core.protocols import Problem

HOME = "TRACEBENCH_HOME"
"""Names the folder in which the run was started."""


class CommandSettings(TrainerSettings):
    """Which program trains, and where."""

    argv: tuple[str, ...] = Field(min_length=1)
    """The command and its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for the program, beside those that lead it to its job."""
    cwd: str = "."
    """Its working directory, relative to the folder in which the run was started."""
    grace: float = Field(default=10.0, ge=0)
    """Seconds that the program may go on once a cap has turned it away; then it is ended."""


class Command:
    """Starts the program, serves its evaluations, and waits until it ends."""

    def __init__(self, settings: CommandSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Train by the program. It is ended with the job, and when it goes on against a spent budget.

        Raises:
            ProgramError: when the program cannot be started, or ends with another exit code than 0.
        """
        with Door(problem) as door:
            program = self._start(problem, door)
            pidfd = os.pidfd_open(program.pid)
            try:
                watch = _Watch(problem, door, program, grace=self.settings.grace)
                door.serve(until=watch.is_over, wake=pidfd)
            finally:
                os.close(pidfd)
                _end(program)
        if program.returncode != 0 and problem.budget.refusal() is None:
            raise ProgramError(
                f"`{self.settings.argv[0]}` ended with {_how(program.returncode)}; what it wrote is in the job's `stdout.log`."
            )

    def _start(self, problem: Problem, door: Door) -> subprocess.Popen[bytes]:
        settings = self.settings
        folder = Path(os.environ.get(HOME, ".")) / settings.cwd
        environ = {**os.environ, **door.environ(), **_models(problem), **settings.env}
        try:
            return subprocess.Popen(  # noqa: S603 - the config's own program
                settings.argv, cwd=folder, env=environ, process_group=0
            )
        except OSError as err:
            raise ProgramError(
                f"`{settings.argv[0]}` cannot be started in `{folder}`: {err.strerror}.", hint="see `argv` and `cwd`"
            ) from err


class _Watch:
    """Tells when serving is over: the program has ended, or goes on although a cap has turned it away."""

    def __init__(self, problem: Problem, door: Door, program: subprocess.Popen[bytes], *, grace: float) -> None:
        self._problem = problem
        self._door = door
        self._program = program
        self._grace = grace
        self._refused_at: float | None = None
        self._next_look = 0.0

    def is_over(self) -> bool:
        """Ask often; the gateway is asked once a second."""
        if self._program.poll() is not None:
            return True
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + 1.0
            if self._refused_at is None and self._is_refused():
                self._refused_at = now
        since = self._door.refused_at or self._refused_at
        return since is not None and now - since >= self._grace

    def _is_refused(self) -> bool:
        budget = self._problem.budget
        try:
            budget.check_time()
        except BudgetExhausted:
            return True
        return budget.refusal() is not None


def _models(problem: Problem) -> dict[str, str]:
    """Return the variables by which OpenAI's SDK, litellm and most frameworks find their server."""
    try:
        door = problem.endpoint("optimizer")
    except ModelError:
        return {}
    key = door.api_key.get_secret_value()
    return {
        "OPENAI_BASE_URL": door.base_url,
        "OPENAI_API_BASE": door.base_url,
        "OPENAI_API_KEY": key,
        "TRACEBENCH_MODEL": door.model,
    }


def _end(program: subprocess.Popen[bytes]) -> None:
    """End the program and what it started in its group."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def _how(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
