"""The run's sandbox server as a job sees it: when the server dies under a request, its successor is asked again.

Nobody but the trusted side can say `killed`, so no candidate can make itself be asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tracebench_core.errors import TraceBenchError
from tracebench_core.protocols import Sandbox, Session
from tracebench_core.specs import Limits, Outcome

GONE_SECONDS = 60.0
"""How long a server that was killed is waited for."""
RETRY_DELAY = 0.05
MOST_DEATHS = 3
"""After as many deaths under one request it may be the request that causes them, and the death is its outcome."""
TEMPLATE_ENDED = "the sandbox's template ended"

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
        return _reach(lambda: self._sandbox.session(code, entry, limits=limits, prelude=prelude))

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


def _ask(request: Callable[[], list[Outcome]]) -> list[Outcome]:
    for _ in range(MOST_DEATHS):
        outcomes = _reach(request)
        if not any(o.status == "killed" and TEMPLATE_ENDED in o.error for o in outcomes):
            break
    return outcomes


def _reach(request: Callable[[], T]) -> T:
    deadline = time.monotonic() + GONE_SECONDS
    while True:
        try:
            return request()
        except TraceBenchError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_DELAY)
