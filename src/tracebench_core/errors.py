"""Every error a user can meet, each with its exit code and the command to type next."""

from __future__ import annotations

import errno
import os
import re
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
"""Numbers of an `OSError` that say nothing of the program that wrote, and everything of the disk, or of a limit for files (`ulimit -f`)."""
UNUSABLE = frozenset(
    {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ENOTEMPTY}
)
"""Numbers of an `OSError` that say that a path is not what it is taken for, or not to be touched: whoever named it can mend that."""

_EXTRA = re.compile(r"""(["'])tracebench-engine\[([\w-]+)\]\1""")
_PIP = re.compile(r"""(?<!-m )(?<!uv )(?<!/)\bpip install\b((?: (?:"[^"]*"|'[^']*'|[^\s"'&|;:,(`])+)*)""")
"""The command, and the words that it is given: up to another command, or to what is said about it."""


def typed(hint: str) -> str:
    """Return a hint so that it can be typed where it is read: `pip install` as the command that installs into this environment.

    An environment that `uv` made has no pip; then it is `uv`, else the pip that Python brings along. A tool of `uv`'s is installed anew
    with more. An extra that brings a part of the bench is installed from the checkout, where there is one.
    """
    if "pip install" not in hint:
        return hint
    local = _EXTRA.sub(lambda found: _extra(found[2]) or found[0], hint)
    return _PIP.sub(lambda found: _installing(found[1]), local)


def _extra(name: str) -> str | None:
    from tracebench_core.checkout import from_checkout  # noqa: PLC0415 - few errors have such a hint

    return from_checkout(name)


def quoted(path: object) -> str:
    """Return a path as one word of a command that can be typed, whatever it holds."""
    from shlex import quote  # noqa: PLC0415 - few errors have such a hint

    return quote(str(path))


def _installing(words: str) -> str:
    from shutil import which  # noqa: PLC0415 - few errors have such a hint

    from tracebench_core.checkout import ask_for_more  # noqa: PLC0415

    bin_folder = Path(sys.executable).parent
    python = quoted(sys.executable)
    if find_spec("pip") is not None:
        is_own = Path(which("pip") or "/").parent == bin_folder
        return f"pip install{words}" if is_own else f"{python} -m pip install{words}"
    made_by = os.environ.get("UV", "")  # which `uv run` sets
    beside = [bin_folder, Path(sys.prefix).parent / ".tools" / "bin"]  # the latter is made by README's command
    found = (
        "uv" if which("uv") else next(filter(None, (which(made_by), *(which("uv", path=str(f)) for f in beside))), None)
    )
    if found is None:
        return f"{python} -m ensurepip && {python} -m pip install{words}"
    return ask_for_more(words, uv=found) or f"{quoted(found)} pip install --python {python}{words}"


class TraceBenchError(Exception):
    """Base of all expected errors: shown as one sentence and a hint, without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", field: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.hint = typed(hint)
        self.field = field
        """The field of a config that it is about."""
        self.parts: tuple[TraceBenchError, ...] = ()
        """The errors that it tells together, a line each."""


class UsageError(TraceBenchError):
    """The user asked for something that does not exist or cannot be."""

    exit_code = 2


class ConfigError(UsageError):
    """A config cannot be read as one; the message names file, line and field."""


class RunDirError(UsageError):
    """A run directory is missing, foreign, newer than this reader, or in use by another process."""


class OutputError(TraceBenchError):
    """Standard output cannot be written."""


class MissingRequirementError(TraceBenchError):
    """An extra, a tool or a key that the run needs is not here."""

    exit_code = 3


class SandboxUnavailableError(TraceBenchError):
    """The sandbox cannot be reached or cannot start a process: nothing was measured, and nothing is known of the candidate."""


class PluginError(TraceBenchError):
    """A plugin could not be loaded, or broke the contract."""

    exit_code = 3


class ProgramError(TraceBenchError):
    """A program that a job started cannot run, or ended badly."""


class NotApplicableError(TraceBenchError):
    """A trainer cannot serve this task at all; raised before anything is spent, and the job is skipped with the reason."""


class BrokenTaskError(PluginError):
    """A task's program or guide fails on the task's own initial candidate."""


class PluginConflictError(PluginError):
    """Two plugins, or one plugin twice, claim one id."""


class GateError(TraceBenchError):
    """What a gate demands is not borne out."""

    exit_code = 4


class NothingSelectedError(TraceBenchError):
    """The selection holds no job."""

    exit_code = 6


class ModelError(TraceBenchError):
    """A language model could not be asked, or answered with something that is no completion.

    `kind` is one of `refused`, `timeout`, `rate_limited`, `server`, `malformed`, `auth`, `request`, `replay_miss`.
    """

    def __init__(self, message: str, *, kind: str, status_code: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status_code = status_code


class TrainingStopped(BaseException):
    """The engine ends a training that can come to nothing, because no model answers or nothing can be measured."""


class NoModelAnswered(TrainingStopped):
    """No model call was answered."""


class NothingMeasured(TrainingStopped):
    """No evaluation could be measured."""


class RecordingLeft(TrainingStopped):
    """A replay asked what its recording does not hold: from there on it is another run."""


class BudgetExhausted(BaseException):
    """A cap of the job, of its scoring or of the run is reached: no further evaluation or model call is granted.

    Attributes:
        axis: `evaluations`, `llm_calls`, `tokens`, `usd` or `seconds`.
        scope: `job`, `run` or `scoring`.
    """

    def __init__(self, axis: str, *, scope: str = "job") -> None:
        super().__init__(f"{scope} budget reached: {axis}")
        self.axis = axis
        self.scope = scope

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes."""
        return partial(type(self), scope=self.scope), (self.axis,)
