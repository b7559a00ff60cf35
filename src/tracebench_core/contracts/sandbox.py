"""Where untrusted code runs, as a task's program sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tracebench_core.specs import Limits, Outcome


class Session(Protocol):
    """One candidate, alive in its own locked-down process, called many times. Its limits span the whole session."""

    @property
    def shared(self) -> memoryview:
        """The memory of `Limits.shared_mb`, which the process maps, too, and may write at any time; empty once the session is closed."""
        ...

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """Call the entry function with copies of `args`; after a fatal outcome every further call repeats that outcome.

        A call takes some tens of microseconds beside what the function takes where its arguments and its value are numbers and arrays, and
        fewest where there are none: without arguments, of the session's own entry, that returns None.
        """
        ...

    def close(self) -> None:
        """End the process. Idempotent; also done on leaving the `with` block."""
        ...

    def __enter__(self) -> Session: ...
    def __exit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """Evaluates untrusted code in a process of its own. Values travel as plain data, numpy arrays included; nothing is pickled.

    All raise `NotMeasured` when the machine was too busy to give the code the processor time of its limits; let it through.
    """

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """Run `code` in a fresh process and return `entry(*args)`; `prelude` is trusted source that runs first (imports)."""
        ...

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """Run `code` once and call `entry` for each tuple of arguments, in one process; order kept."""
        ...

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """Open a process in which `code` is loaded and `entry` can be called step by step by a trusted caller."""
        ...

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
        devices: Sequence[str] = (),
    ) -> Outcome:
        """Run a command in an empty folder holding `files`; the value is `{"returncode", "stdout", "stderr"}`.

        `devices` are character devices, by their own absolute names, that it may read, write and control: of graphics processors, say.

        Raises:
            MissingRequirementError: for a device that is not there, or is none.
        """
        ...
