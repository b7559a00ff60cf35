"""The run's sandbox server as a job sees it: when the server dies under a request, its successor is asked again.

Nobody but the trusted side can say `killed`, so no candidate can make itself be asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tracebench_core.contracts import Sandbox, Session
from tracebench_core.errors import SandboxUnavailableError
from tracebench_core.specs import Limits, Outcome
from tracebench_sandbox.frames import TEMPLATE_ENDED

GONE_SECONDS = 60.0
"""How long a server that was killed is waited for."""
RETRY_DELAY = 0.05
MOST_DEATHS = 3
"""After as many deaths under one request it may be the request that causes them: it is not asked again."""

T = TypeVar("T")


class PatientSandbox:
    """A `Sandbox` over one that may die and come back at the same address. A session, which has a state, is not begun anew."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """See `Sandbox`."""
        return _ask(lambda: [self._sandbox.call(code, entry, *args, limits=limits, prelude=prelude)])[0]

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """See `Sandbox`."""
        return _ask(lambda: self._sandbox.call_many(code, entry, inputs, limits=limits, prelude=prelude))

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """See `Sandbox`."""
        return PatientSession(_reach(lambda: self._sandbox.session(code, entry, limits=limits, prelude=prelude)))

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
    ) -> Outcome:
        """See `Sandbox`."""
        return _ask(lambda: [self._sandbox.command(argv, files=files, stdin=stdin, limits=limits)])[0]


class PatientSession:
    """A `Session` whose end with its server is an error and no outcome."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def shared(self) -> memoryview:
        """See `Session`."""
        return self._session.shared

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """See `Session`.

        Raises:
            SandboxUnavailableError: when the server died; nothing is known of the candidate then.
        """
        outcome = self._session.call(*args, entry=entry)
        if _is_gone(outcome):
            raise SandboxUnavailableError("The sandbox's server ended under a session.")
        return outcome

    def close(self) -> None:
        """See `Session`."""
        self._session.close()

    def __enter__(self) -> Session:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()


def _is_gone(outcome: Outcome) -> bool:
    return outcome.status == "killed" and TEMPLATE_ENDED in outcome.error


def _ask(request: Callable[[], list[Outcome]]) -> list[Outcome]:
    for _ in range(MOST_DEATHS):
        outcomes = _reach(request)
        if not any(map(_is_gone, outcomes)):
            return outcomes
    raise SandboxUnavailableError(f"The sandbox's server ended {MOST_DEATHS} times under one request.")


def _reach(request: Callable[[], T]) -> T:
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        try:
            return request()
        except SandboxUnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_DELAY)
