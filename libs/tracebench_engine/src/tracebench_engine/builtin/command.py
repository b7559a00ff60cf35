"""`Command`: a trainer that is a program of its own, in whatever language, environment or version of Python."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.errors import ProgramError
from tracebench_core.plugins import HOME
from tracebench_core.proposing.settings import TrainerSettings
from tracebench_engine.door.held import Files, Network
from tracebench_engine.door.program import Program, describe_exit, run_program

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
    files: Files = "host"
    """What it finds of the host's files: all (`host`), or the system, what is named, and the job's work folder, which alone it may write to
    (`folder`)."""
    readable: tuple[str, ...] = ()
    """For `files: folder`: further files and folders that it may read, by absolute names; `~` and `$NAME` are expanded."""
    network: Network = "open"
    """Of the network it reaches all (`open`), or the run's models only (`gateway`)."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for the program, beside those that lead it to its job, and a few of the run's (`PATH`, `HOME`, …)."""
    cwd: str = "."
    """Its working directory, relative to the folder in which the run was started. With `files: folder` that is the job's work folder, and
    files of this one that `argv` names are given by their absolute names, readable."""
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
        argv: tuple[str, ...] = settings.argv
        shown: tuple[Path, ...] = ()
        if settings.files == "folder":
            argv, shown = named_files(argv, folder)
            folder = Path.cwd()
        program = Program(
            argv,
            folder=folder,
            environ=passed(os.environ),
            own=settings.env,
            name="Command",
            network=settings.network,
            files=settings.files,
            readable=settings.readable,
            shown=shown,
            grace=settings.grace,
        )
        code = run_program(problem, program)
        if code != 0:
            raise ProgramError(
                f"`{settings.argv[0]}` ended with {describe_exit(code)}; what it wrote is in the job's `stdout.log`."
            )


def named_files(argv: tuple[str, ...], folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return a command whose words that name files of a folder are absolute, and these files."""
    if not folder.is_dir():
        raise ProgramError(f"`{argv[0]}` cannot be started in `{folder}`: {os.strerror(errno.ENOENT)}.")
    found = {word: (folder / word).absolute() for word in argv[1:] if (folder / word).is_file()}
    if os.sep in argv[0]:
        found[argv[0]] = (folder / argv[0]).absolute()
    return tuple(str(found.get(word, word)) for word in argv), tuple(found.values())


def passed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program is given of the run's environment: a list of names, so that no key is passed under a name nobody foresaw."""
    return {name: value for name, value in environ.items() if name in PASSED or name.startswith(PASSED_PREFIXES)}
