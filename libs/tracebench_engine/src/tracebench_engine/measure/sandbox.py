"""The sandbox of a job, and as an evaluation reaches it: opened at the first request, and asked again when its server dies under one.

The end of an evaluation waits while a request is under way.
Nobody but the trusted side can say `killed`, so no candidate can make itself be asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from tracebench_core.contracts import Session
from tracebench_core.errors import SandboxUnavailableError
from tracebench_core.specs import Limits, Outcome, SandboxConfig
from tracebench_engine.measure.bounded import Gate
from tracebench_sandbox.client import LocalSandbox, SandboxClient
from tracebench_sandbox.exchange import Exchange, Request
from tracebench_sandbox.frames import TEMPLATE_ENDED, TEMPLATE_HELD
from tracebench_sandbox.granted import granted_folders
from tracebench_sandbox.session import LocalSession

GONE_SECONDS = 180.0
"""How long a server that was killed, or is held, is waited for: longer than its supervisor takes to replace it."""
RETRY_DELAY = 0.05
MOST_DEATHS = 3
"""After as many deaths under one request it may be the request that causes them: it is not asked again."""

T = TypeVar("T")


def job_sandbox(
    config: SandboxConfig, *, address: str | None, preload: Sequence[str], readable: Sequence[str] = ()
) -> SandboxClient:
    """Return the run's sandbox at `address`, or else one of the job's own, which starts at its first use: many jobs never need one."""
    limits = Limits(memory_mb=config.memory_mb)
    if address is not None:
        return SandboxClient(address, limits=limits)
    return LocalSandbox(
        preload=preload,
        require=config.require,
        readable=lambda: granted_folders((*readable, *config.readable)),
        limits=limits,
    )


class EvaluationSandbox(SandboxClient):
    """A sandbox whose requests pass an evaluation's gate, and outlive its server. A session, which has a state, is not begun anew.

    A request must be finished by whoever began it; its own limits end it.
    """

    def __init__(self, sandbox: SandboxClient, gate: Gate) -> None:
        super().__init__("", limits=sandbox.limits)
        self._sandbox = sandbox
        self._gate = gate

    def open(self) -> str:
        """See `SandboxClient`."""
        return self._sandbox.open()

    def send(self, request: Request[T]) -> T:
        """See `SandboxClient`.

        Raises:
            OutOfTime: when the evaluation's time is over.
            SandboxUnavailableError: when no server came back in time, or each died under the request.
        """
        with self._gate.passed():
            deaths, deadline = 0, time.monotonic() + GONE_SECONDS
            while deaths < MOST_DEATHS:
                try:
                    answer = request.answer(Exchange(self.open(), request))
                except SandboxUnavailableError as err:
                    wait_for_server(err, deadline)
                    continue
                if not is_lost(answer):
                    return answer
                if is_lost(answer, TEMPLATE_HELD):
                    wait_for_server(SandboxUnavailableError("The sandbox's server does not answer."), deadline)
                    continue
                deaths, deadline = deaths + 1, time.monotonic() + GONE_SECONDS
            raise SandboxUnavailableError(f"The sandbox's server ended {MOST_DEATHS} times under one request.")

    def _undisturbed(self) -> AbstractContextManager[object]:
        return self._gate.held()

    def _begun(self, session: LocalSession) -> Session:
        return EvaluationSession(session, self._gate)


class EvaluationSession:
    """A `Session` whose calls pass an evaluation's gate, and whose end with its server is an error and no outcome.

    It closes with its last reference: the end of its evaluation may come before whoever asked for it has it, or can close it.
    """

    def __init__(self, session: Session, gate: Gate) -> None:
        self._session = session
        self._gate = gate

    @property
    def shared(self) -> memoryview:
        """See `Session`."""
        return self._session.shared

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """See `Session`.

        Raises:
            OutOfTime: when the evaluation's time is over.
            SandboxUnavailableError: when the server died; nothing is known of the candidate then.
        """
        with self._gate.passed():
            outcome = self._session.call(*args, entry=entry)
        if is_lost(outcome):
            raise SandboxUnavailableError("The sandbox's server ended under a session, or does not answer.")
        return outcome

    def close(self) -> None:
        """See `Session`; also after the evaluation's end."""
        with self._gate.held():
            self._session.close()

    def __enter__(self) -> Session:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    __del__ = close


def wait_for_server(err: SandboxUnavailableError, deadline: float) -> None:
    """Wait a moment for a server to come back; raises `err` when the deadline has passed."""
    if time.monotonic() > deadline:
        raise err
    time.sleep(RETRY_DELAY)


def is_lost(answer: object, *how: str) -> bool:
    """Tell whether the server's death, or silence, stands in an answer: an outcome, or some of which one may be it."""
    outcomes = [o for o in (answer if isinstance(answer, list) else [answer]) if isinstance(o, Outcome)]
    words = how or (TEMPLATE_ENDED, TEMPLATE_HELD)
    return any(o.status == "killed" and any(word in o.error for word in words) for o in outcomes)
