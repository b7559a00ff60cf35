"""The `Context` of one evaluation: made in microseconds, with folders and environments that come into being at their first use."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Completion, Endpoint, Message, Role
from tracebench_engine.measure.bounded import Gate
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.sandbox import EvaluationSandbox
from tracebench_gateway import turns
from tracebench_gateway.access import Phase
from tracebench_sandbox.client import SandboxClient

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
REPEATED = "repeated"
LONGEST_NAME = 80
"""Characters of a folder's name that come from an id."""


class Lease(Protocol):
    """An environment that is held open."""

    @property
    def handle(self) -> Any: ...
    def release(self) -> None: ...


class Environments(Protocol):
    """Where a job's environments come from."""

    def lease(self, name: str, options: Mapping[str, JsonValue]) -> Lease:
        """Open an environment, or share one that is open.

        Raises:
            NotMeasured: when it cannot be opened.
        """
        ...


class NoEnvironments:
    """Stands where a task names no environment."""

    def lease(self, name: str, options: Mapping[str, JsonValue]) -> Lease:
        """Refuse."""
        raise NotMeasured(f"the task names no environment `{name}`", retry=False)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all evaluations of a job have in common."""

    models: Models
    sandbox: SandboxClient
    workdir: Path
    artifacts: Path
    """Of the suite."""
    environments: Environments = field(default_factory=NoEnvironments)
    activity: Callable[[str, int | None, int | None], None] = lambda _text, _done, _total: None
    record: Callable[[str, Mapping[str, JsonValue], str, str], None] = lambda _name, _data, _candidate, _example: None


class EvaluationContext:
    """One evaluation's context; `close` ends what it has opened."""

    __slots__ = (
        "_check",
        "_closers",
        "_due",
        "_example",
        "_keeps",
        "_name",
        "_phase",
        "_seed",
        "_shared",
        "asked_model",
        "candidate",
        "gate",
    )

    def __init__(
        self,
        shared: Shared,
        *,
        seed: Callable[[], int],
        candidate: str,
        example: str,
        name: Callable[[], str],
        phase: Phase,
        seconds: float | None = None,
        check: Callable[[], None] | None = None,
        keeps: bool = True,
    ) -> None:
        """`name` tells this evaluation from all others of the job; `seconds` is what it may take.

        Without `keeps` it only repeats a measurement of which everything is kept already: its records and artifacts are nobody's.

        Both names and seeds cost more than a small evaluation, so they are made for who asks.
        """
        self._seed = seed
        self.candidate = candidate
        self.asked_model = False
        self._shared = shared
        self._example = example
        self._name = name
        self._phase = phase
        self._check = check
        self._keeps = keeps
        self._due = None if seconds is None else time.monotonic() + seconds
        self.gate = Gate()
        """Through it goes whatever this evaluation asks of the engine; those of a batch share one."""
        self._closers: dict[str, tuple[Any, Callable[[], None]]] = {}

    @property
    def seed(self) -> int:
        """What is random in this evaluation is drawn from it."""
        return self._seed()

    @property
    def leans(self) -> bool:
        """Whether it has asked a model or an environment, so that its time may have been spent on them."""
        return self.asked_model or any(key.startswith("environment ") for key in self._closers)

    @property
    def sandbox(self) -> Sandbox:
        """Where untrusted code runs."""
        return EvaluationSandbox(self._shared.sandbox, self.gate)

    @property
    def workdir(self) -> Path:
        """Folder of this evaluation alone."""
        return self._folder("workdir", self._shared.workdir, keep=False)

    @property
    def artifacts(self) -> Path:
        """Folder that is kept."""
        if not self._keeps:
            return self._folder("artifacts", self._shared.workdir / REPEATED, keep=False)
        return self._folder("artifacts", self._shared.artifacts, keep=True)

    @property
    def deadline(self) -> float | None:
        """Seconds that are left."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def complete(
        self, messages: Sequence[Message], *, role: Role = "agent", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model."""
        self.asked_model = True
        with self.gate.passed(), turns.asking_for(self.candidate, self._example):
            return self._shared.models.complete(messages, role=role, phase=self._phase, n=n, **sampling)

    def endpoint(self, role: Role = "agent") -> Endpoint:
        """Return an OpenAI-compatible door for a role."""
        self.asked_model = True
        return self._shared.models.endpoint(role, phase=self._phase)

    def environment(self, name: str, **options: JsonValue) -> Any:
        """Return the handle of an environment; the same one for the same name."""
        key = f"environment {name}"
        with self.gate.passed():
            if key not in self._closers:
                lease = self._shared.environments.lease(name, options)
                self._closers[key] = lease.handle, lease.release
            return self._closers[key][0]

    def check(self) -> None:
        """Raise when a cap has turned a call away, or the time is over."""
        if self._check is not None:
            self._check()

    def activity(self, text: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say what this evaluation is doing."""
        with self.gate.passed():
            self._shared.activity(text, done, total)

    def record(self, name: str, data: Mapping[str, JsonValue]) -> None:
        """Keep an event of the suite's own."""
        with self.gate.passed():
            if self._keeps:
                self._shared.record(name, data, self.candidate, self._example)

    def close(self) -> None:
        """Release environments and remove the working folder."""
        for _, end in tuple(self._closers.values()):
            end()
        self._closers.clear()

    def _folder(self, key: str, parent: Path, *, keep: bool) -> Path:
        if key not in self._closers:
            path = parent / self._name()
            path.mkdir(parents=True, exist_ok=True)
            self._closers[key] = path, _nothing if keep else lambda: shutil.rmtree(path, ignore_errors=True)
        folder: Path = self._closers[key][0]
        return folder


def evaluation_name(candidate: str, example: str, *, phase: Phase, repeat: int) -> str:
    """Return the name of an evaluation's folders: safe as a file name, and unique within the job."""
    safe = example
    if UNSAFE.search(example) or len(example) > LONGEST_NAME or example.startswith("."):
        import hashlib  # noqa: PLC0415 - hardly any id needs it

        digest = hashlib.sha256(example.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        safe = f"{UNSAFE.sub('-', example)[:LONGEST_NAME].lstrip('.')}-{digest}"
    scoring = "scoring-" if phase == "scoring" else ""
    return f"{scoring}{candidate}-{safe}{f'.{repeat}' if repeat else ''}"


def _nothing() -> None:
    return None
