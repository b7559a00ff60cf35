"""`Command`: a trainer that is a program of its own, in whatever language, environment or version of Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.engine.program import Program, describe_exit, run_program
from tracebench_core.errors import ProgramError
from tracebench_core.plugins import HOME
from tracebench_core.proposing.settings import TrainerSettings

PASSED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "VIRTUAL_ENV", "CONDA_PREFIX",
    "PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "HF_HOME",
    "HF_HUB_OFFLINE", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NO_PROXY", "no_proxy", HOME,
)  # fmt: skip
"""Variables of the run's environment that a program finds in its own; all others it is given by `env` or not at all."""
PASSED_PREFIXES = ("LC_", "OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "XDG_")


class CommandSettings(TrainerSettings):
    """Which program trains, and where."""

    argv: tuple[str, ...] = Field(min_length=1)
    """The command and its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for the program, beside those that lead it to its job, and a few of the run's (`PATH`, `HOME`, …)."""
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
        settings = self.settings
        folder = Path(os.environ.get(HOME, ".")) / settings.cwd
        program = Program(
            settings.argv, folder=folder, environ=passed(os.environ), own=settings.env, grace=settings.grace
        )
        code = run_program(problem, program)
        if code != 0:
            raise ProgramError(
                f"`{settings.argv[0]}` ended with {describe_exit(code)}; what it wrote is in the job's `stdout.log`."
            )


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program is given of the run's environment: a list of names, so that no key is passed under a name nobody foresaw."""
    return {name: value for name, value in environ.items() if name in PASSED or name.startswith(PASSED_PREFIXES)}
