"""What the loop needs of a problem: the part of `contracts.Problem` that it uses, which an experiment inside a task offers, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from tracebench_core.specs import Candidate, Completion, Evaluation, Message, Parameter, Role, Values


class Bench(Protocol):
    """Measures candidates, asks a model, and keeps the minutes. Each member is as in `contracts.Problem`."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...
    @property
    def initial(self) -> Values: ...
    @property
    def objective(self) -> str: ...
    @property
    def rng(self) -> Random: ...
    def step(self) -> AbstractContextManager[int]: ...
    def check(self, values: Mapping[str, JsonValue]) -> str: ...
    def evaluate(
        self, values: Values, *, parents: Sequence[str | Candidate] = (), origin: str = "", repeat: bool = False
    ) -> Evaluation: ...
    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]: ...
    def count_proposals(self, *, asked: int = 0, usable: int = 0, duplicate: int = 0, invalid: int = 0) -> None: ...
    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None: ...
    def log(self, name: str, value: float) -> None: ...
