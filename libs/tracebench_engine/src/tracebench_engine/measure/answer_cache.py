"""A door to models that remembers what each evaluation was answered, and can say it again: to measure twice is not to pay twice."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall
from tracebench_engine.measure.models import Models
from tracebench_gateway import turns
from tracebench_gateway.access import Phase, Refusal


class CachedModels:
    """Passes every call on; while it is `repeating`, an evaluation's calls are answered as they were, in their order.

    A call that was not made before is passed on: whoever asks something else each time is itself random.
    """

    def __init__(self, models: Models) -> None:
        self._models = models
        self._answers: dict[bytes, list[list[Completion]]] = defaultdict(list)
        self._taken: dict[bytes, int] | None = None
        self._lock = threading.Lock()
        self.has_doors = False
        """Whether an address was handed out, whose calls are not heard here."""

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """Answer from the beginning again, as long as the block lasts."""
        self._taken = defaultdict(int)
        try:
            yield
        finally:
            self._taken = None

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model, or say what it said."""
        try:
            key = canonical_json([turns.asker(), list(messages), role, n, sampling])
        except (TypeError, ValueError):  # what has no text cannot be told apart
            return self._models.complete(messages, role=role, phase=phase, n=n, **sampling)
        with self._lock:
            if self._taken is not None and self._taken[key] < len(self._answers[key]):
                self._taken[key] += 1
                return self._answers[key][self._taken[key] - 1]
        answer = self._models.complete(messages, role=role, phase=phase, n=n, **sampling)
        with self._lock:
            if self._taken is None:
                self._answers[key].append(answer)
        return answer

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the same door as an address and a key."""
        self.has_doors = True
        return self._models.endpoint(role, phase=phase)

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return the metered calls."""
        return self._models.records(after)

    def used(self) -> Usage:
        """Return what the training calls have used."""
        return self._models.used()

    def refusal(self, phase: Phase = "training") -> Refusal | None:
        """Return the cap that first turned a call of a phase away."""
        return self._models.refusal(phase)

    def start_clock(self) -> float | None:
        """Count the cap in seconds from now."""
        return self._models.start_clock()

    def began(self) -> float | None:
        """Return when the cap in seconds began to count."""
        return self._models.began()

    def end_training(self) -> None:
        """End the training calls that are still under way."""
        self._models.end_training()

    def score_anew(self) -> None:
        """Begin a scoring again that was cut short."""
        self._models.score_anew()
