"""A job's problem from another process or another Python: one file, standard library only, Python 3.8 or newer.

    import tracebench_client

    problem = tracebench_client.connect()
    while True:
        with problem.step():
            evaluation = problem.evaluate({"x": 1.5}, parents=[problem.best()], origin="my operator")

The program that trains finds the door in `$TRACEBENCH_DOOR`, and models behind `$OPENAI_BASE_URL` with `$OPENAI_API_KEY`. Any thread may
use the problem, and so may the processes that the program starts: each has a connection of its own. When a cap is reached every further
call raises `BudgetExhausted`, which `except Exception` does not catch; let it end the program.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

PROTOCOL = 2
VARIABLE = "TRACEBENCH_DOOR"
"""Holds `PATH#TOKEN`: the socket's path and the job's token."""


class Candidate(NamedTuple):
    """A full assignment; `score` is None where nothing, or not everything, was measured."""

    id: str
    values: dict[str, Any]
    score: float | None


class Result(NamedTuple):
    """One example of an evaluation: `status` is `ok`, `invalid`, `timeout` or `error`, and `feedback` says what to improve."""

    example: str
    split: str
    score: float
    feedback: str
    status: str
    metrics: dict[str, float]
    seconds: float


class Evaluation(NamedTuple):
    """One candidate, by its id, on a batch, in the order of the batch. `score` is None where an example could not be measured."""

    candidate: str
    results: list[Result]
    score: float | None
    status: str
    metrics: dict[str, float]


class Endpoint(NamedTuple):
    """An OpenAI-compatible address, metered and capped with the job."""

    base_url: str
    api_key: str
    model: str


class BudgetExhausted(BaseException):
    """A cap is reached: `axis` says which, `scope` whether it is the job's or the run's."""

    def __init__(self, axis: str, scope: str) -> None:
        super().__init__(f"{scope} budget reached: {axis}")
        self.axis = axis
        self.scope = scope

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between the processes of a pool."""
        return type(self), (self.axis, self.scope)


class DoorError(Exception):
    """The door refused a request (unknown example, missing parameter), or is gone."""


def connect(address: str | None = None) -> Problem:
    """Return the job's problem; `address` defaults to `$TRACEBENCH_DOOR`."""
    address = address or os.environ.get(VARIABLE)
    if not address:
        raise DoorError(f"${VARIABLE} is not set: this program is started by a job, not by hand")
    return Problem(address)


class Problem:
    """What a trainer sees: parameters, examples, evaluation, models. Everything is metered by the job that started this program."""

    def __init__(self, address: str) -> None:
        self._path, _, self._token = address.partition("#")
        self._mine = threading.local()
        told = self._connected().told
        self.parameters = [SimpleNamespace(**p) for p in told["parameters"]]
        self.initial = told["initial"]
        self.objective = told["objective"]
        self.objectives = told["objectives"]
        self.train = [SimpleNamespace(**e) for e in told["train"]]
        self.validation = [SimpleNamespace(**e) for e in told["validation"]]
        self.seed = told["seed"]
        self.rng = random.Random(told["rng"])  # noqa: S311 - reproducible, not secret

    def evaluate(
        self,
        values: dict[str, Any],
        examples: Sequence[Any] | None = None,
        *,
        parents: Sequence[Any] = (),
        origin: str = "",
    ) -> Evaluation:
        """Evaluate one candidate on a batch of examples or their ids (default: all of `train`)."""
        return self.evaluate_many([values], examples, parents=parents, origin=origin)[0]

    def evaluate_many(
        self,
        candidates: Sequence[dict[str, Any]],
        examples: Sequence[Any] | None = None,
        *,
        parents: Sequence[Any] = (),
        origin: str = "",
    ) -> list[Evaluation]:
        """Evaluate candidates on one batch, in parallel where the run allows it; order kept."""
        ids = None if examples is None else [getattr(e, "id", e) for e in examples]
        before = [getattr(p, "id", p) for p in parents]
        told = self._ask("evaluate", candidates=list(candidates), examples=ids, parents=before, origin=origin)
        return [Evaluation(**{**e, "results": [Result(*r) for r in e["results"]]}) for e in told]

    def best(self) -> Candidate:
        """Return the best candidate up to now; the initial one at first."""
        return Candidate(**self._ask("best"))

    def budget(self) -> dict[str, dict[str, float | None]]:
        """Return `{"caps": …, "used": …}` by axis; None is a free axis, or an unknown price."""
        return dict(self._ask("budget"))

    def check(self, values: dict[str, Any]) -> str:
        """Return why these values may not be evaluated, or an empty text."""
        return str(self._ask("check", values=values))

    def endpoint(self, role: str = "optimizer") -> Endpoint:
        """Return the door to the role's model, for any client that speaks OpenAI's API."""
        return Endpoint(**self._ask("endpoint", role=role))

    @contextmanager
    def step(self) -> Iterator[int]:
        """Mark one optimisation step; yields its index, from 0."""
        index = self._ask("step")
        try:
            yield index
        finally:
            self._ask("step_end")

    def log(self, name: str, value: float) -> None:
        """Record a number of the current step."""
        self._ask("log", name=name, value=float(value))

    def decide(self, candidate: Any, verdict: str, reason: str = "") -> None:
        """Record a verdict on a candidate or its id: `accepted`, `rejected` or `indecisive`."""
        self._ask("decide", candidate=getattr(candidate, "id", candidate), verdict=verdict, reason=reason)

    def close(self) -> None:
        """Close this thread's connection; another call opens it anew."""
        line = getattr(self._mine, "line", None)
        if line is not None:
            line.close()
            self._mine.line = None

    def __getstate__(self) -> dict[str, Any]:
        """Travel to the processes of a pool, which connect by themselves."""
        return {name: value for name, value in self.__dict__.items() if name != "_mine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._mine = threading.local()

    def _connected(self) -> _Line:
        line: _Line | None = getattr(self._mine, "line", None)
        if line is None or line.pid != os.getpid():  # a forked child must not write into its parent's connection
            line = self._mine.line = _Line(self._path, self._token)
        return line

    def _ask(self, method: str, **params: Any) -> Any:
        return self._connected().ask(method, **params)


class _Line:
    """One connection, of one thread of one process."""

    def __init__(self, path: str, token: str) -> None:
        self.pid = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise DoorError(f"the job's door is gone: {error}") from error
        self._lines = self._socket.makefile("rb")
        try:
            self.told = self.ask("open", token=token, protocol=PROTOCOL)
        except DoorError:
            self.close()
            raise

    def ask(self, method: str, **params: Any) -> Any:
        request = json.dumps([method, params], separators=(",", ":"), default=_plain)
        return self.send(request.encode())

    def send(self, request: bytes) -> Any:
        """Send one line and return its answer, or raise what it tells of."""
        try:
            self._socket.sendall(request + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise DoorError(f"the job's door is gone: {error}") from error
        if not line:
            raise DoorError("the job's door is closed")
        kind, answer = json.loads(line)
        if kind == "budget":
            raise BudgetExhausted(*answer)
        if kind == "error":
            raise DoorError(answer)
        return answer

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def _plain(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
