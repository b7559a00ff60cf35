"""A door to models behind which a case's replies stand, in place of whoever would answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.errors import ModelError
from tracebench_core.specs import Completion, Endpoint, Message, Role
from tracebench_engine.measure.models import Models, NoModels
from tracebench_gateway.access import Phase

NAME = "calibration"
"""Of the model that is said to have answered."""


class Replies(NoModels):
    """Answers with the reply to the example that is being measured; without one, `beyond` is asked."""

    def __init__(self, beyond: Models | None = None) -> None:
        self._beyond = beyond or NoModels()
        self._replies: Mapping[str, str] = {}
        self._example = ""

    def say(self, replies: Mapping[str, str], *, example: str) -> None:
        """Take the replies of a case, and the example that is measured next."""
        self._replies, self._example = replies, example

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Return what the case says."""
        if not self._replies:
            return self._beyond.complete(messages, role=role, phase=phase, n=n, **sampling)
        text = self._replies.get(self._example, self._replies.get(""))
        if text is None:
            raise ModelError(f"The case has no reply for example `{self._example}`.", kind="replay_miss")
        return [Completion(text=text, model=NAME)] * n

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the address of `beyond`: replies have none."""
        if self._replies:
            raise ModelError("The replies of a case have no address.", kind="refused")
        return self._beyond.endpoint(role, phase=phase)
