"""The sandbox as one evaluation reaches it: the end of the evaluation waits while a request is under way.

A request whose connection is shared by a job's evaluations must be finished by whoever began it; its own limits end it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Sandbox, Session
from tracebench_core.specs import Limits, Outcome
from tracebench_engine.measure.bounded import Gate, OutOfTime


class GatedSandbox:
    """A `Sandbox` whose requests pass an evaluation's gate."""

    def __init__(self, sandbox: Sandbox, gate: Gate) -> None:
        self._sandbox = sandbox
        self._gate = gate

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """See `Sandbox`."""
        with self._gate.passed():
            return self._sandbox.call(code, entry, *args, limits=limits, prelude=prelude)

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """See `Sandbox`."""
        with self._gate.passed():
            return self._sandbox.call_many(code, entry, inputs, limits=limits, prelude=prelude)

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """See `Sandbox`."""
        opened: list[GatedSession] = []
        try:
            with self._gate.passed():
                opened.append(
                    GatedSession(self._sandbox.session(code, entry, limits=limits, prelude=prelude), self._gate)
                )
        except OutOfTime:
            for session in opened:
                session.close()
            raise
        return opened[0]

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
    ) -> Outcome:
        """See `Sandbox`."""
        with self._gate.passed():
            return self._sandbox.command(argv, files=files, stdin=stdin, limits=limits)


class GatedSession:
    """A `Session` whose calls pass an evaluation's gate; it can be closed also after the evaluation's end."""

    def __init__(self, session: Session, gate: Gate) -> None:
        self._session = session
        self._gate = gate

    @property
    def shared(self) -> memoryview:
        """See `Session`."""
        return self._session.shared

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """See `Session`."""
        with self._gate.passed():
            return self._session.call(*args, entry=entry)

    def close(self) -> None:
        """See `Session`."""
        with self._gate.held():
            self._session.close()

    def __enter__(self) -> Session:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()
