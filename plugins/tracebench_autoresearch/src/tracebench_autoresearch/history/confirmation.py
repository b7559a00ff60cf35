"""What the measurements at the end say of what was kept, read from a job's events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tracebench_autoresearch.statistics.effect import Effect
from tracebench_autoresearch.trainer.confirming import ALL, CONFIRMED, GAIN, HIGH, LOW, STEP
from tracebench_core.specs.events import MetricLogged


@dataclass(frozen=True, slots=True)
class Gain:
    """A difference of scores, for which higher is better, with its interval of 95 %; None where it was not measured."""

    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        return "not measured" if self.value is None else str(Effect(self.value, self.low, self.high))


@dataclass(frozen=True, slots=True)
class Ablation:
    """One kept edit, and what stood at the end without it."""

    candidate: str
    gain: Gain
    confirmed: bool
    is_step: bool
    """Later edits stand on it: it was compared with what it replaced."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """All that was kept, measured anew."""

    total: Gain
    edits: tuple[Ablation, ...]

    @property
    def words(self) -> str:
        """In one line."""
        confirmed = sum(edit.confirmed for edit in self.edits)
        return f"of {len(self.edits)} kept, {confirmed} confirmed, total gain {self.total}"

    def lines(self) -> Iterator[str]:
        """Yield one line for each edit."""
        for edit in self.edits:
            stands = "confirmed" if edit.confirmed else "not confirmed"
            how = "as a step, for later edits stand on it" if edit.is_step else "by taking it out"
            yield f"{edit.candidate}\t{stands}\t{edit.gain}\t{how}"


def read_confirmation(events: Iterable[Any]) -> Confirmation | None:
    """Return what came of the confirmation; None where there was none, or it did not end."""
    numbers = {event.name: event.value for event in events if isinstance(event, MetricLogged)}
    head, tail = CONFIRMED.split("{}")
    about = [
        name.removeprefix(head).removesuffix(tail) for name in numbers if name.startswith(head) and name.endswith(tail)
    ]
    if not about:
        return None
    edits = (
        Ablation(one, _gain(numbers, one), numbers[CONFIRMED.format(one)] == 1, numbers.get(STEP.format(one)) == 1)
        for one in about
    )
    return Confirmation(_gain(numbers, ALL), tuple(edits))


def _gain(numbers: dict[str, float], about: str) -> Gain:
    return Gain(*(numbers.get(name.format(about)) for name in (GAIN, LOW, HIGH)))
