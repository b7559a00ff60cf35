"""The door to language models as a job sees it, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tracebench_core.errors import ModelError
from tracebench_core.specs import Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_gateway.access import Phase, Refusal

_NOTHING = Usage()


class Models(Protocol):
    """A metered door to language models; `llm.client` implements it over the gateway."""

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model.

        Raises:
            BudgetExhausted: when a cap is reached.
            ModelError: when there is no completion to be had.
        """
        ...

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the same door as an address and a key."""
        ...

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return this job's metered calls with numbers above `after`, foreign clients' calls included."""
        ...

    def used(self) -> Usage:
        """Return what the training calls have used up to now."""
        ...

    def refusal(self, phase: Phase = "training") -> Refusal | None:
        """Return the cap that first turned a call of a phase away, a foreign client's included; None while none did."""
        ...

    def start_clock(self) -> float | None:
        """Count the cap in seconds from now, if no call has begun it; return when it began. None: no call is timed."""
        ...

    def began(self) -> float | None:
        """Return when the cap in seconds began to count, on the monotonic clock; None while nothing began it."""
        ...

    def end_training(self) -> None:
        """End the training calls that are still under way, whoever made them, and have them filed."""
        ...

    def score_anew(self) -> None:
        """Begin a scoring again that was cut short with its runner."""
        ...


class NoModels:
    """Stands where a job was given no door to models: a trainer that uses none, or a program that only evaluates."""

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Refuse."""
        raise ModelError("This job was opened without a door to language models.", kind="refused")

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Refuse."""
        raise ModelError("This job was opened without a door to language models.", kind="refused")

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return nothing: no call was made."""
        return []

    def used(self) -> Usage:
        """Return zero."""
        return _NOTHING

    def refusal(self, phase: Phase = "training") -> Refusal | None:
        """Return None: nobody asked."""
        return None

    def start_clock(self) -> float | None:
        """Do nothing: no call is timed."""
        return None

    def began(self) -> float | None:
        """Return None: no call is timed."""
        return None

    def end_training(self) -> None:
        """Do nothing: no call is under way."""

    def score_anew(self) -> None:
        """Do nothing: no call was made."""
