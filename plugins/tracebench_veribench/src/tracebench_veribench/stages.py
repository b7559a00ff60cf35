"""The stages of a verification, reported apart and multiplied, as VeriBench's authors aggregate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from pydantic import JsonValue

from tracebench_core.specs import Feedback, FeedbackStatus

Stage = Literal["gate", "compiles", "tests", "statements", "assumptions", "rechecked"]
STAGES: tuple[Stage, ...] = get_args(Stage)
_WORDS: Mapping[Stage, str] = {
    "gate": "The file uses what is not allowed",
    "compiles": "The file does not compile",
    "tests": "Hidden tests fail",
    "statements": "Required theorems are missing, changed or not proven",
    "assumptions": "Proofs rest on unproven assumptions",
    "rechecked": "A second kernel does not confirm what the first one accepted",
}
SHOWN = 5
"""Notes per stage that a feedback quotes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found at each stage that was reached."""

    shares: Mapping[Stage, float]
    """Per stage the share that passed, in [0, 1]; a stage that was not reached, or that the problem does not have, is absent."""
    notes: Mapping[Stage, Sequence[str]] = field(default_factory=dict)
    """What an optimizer can use, per stage; never a hidden test, never a gold proof."""
    reached_end: bool = False
    """Every stage that the problem has was measured."""
    status: FeedbackStatus = "ok"

    @property
    def score(self) -> float:
        """The product of all stages; 0 when one was not reached."""
        return math.prod(self.shares.values()) if self.reached_end else 0.0

    def recorded(self) -> dict[str, JsonValue]:
        """Return the shares as an event carries them."""
        return dict(self.shares.items())

    def feedback(self) -> Feedback:
        """Return the score with one metric a stage, and words on the first stage that failed."""
        metrics = {stage: self.shares[stage] for stage in STAGES if stage in self.shares}
        return Feedback(
            score=self.score, status=self.status, text=self._text(), metrics=metrics | {"proven": self.score}
        )

    def _text(self) -> str:
        failed = next((s for s in STAGES if self.shares.get(s, 1.0) < 1.0), None)
        if failed is None:
            return "Every stage passed: the file compiles, passes the tests, and proves what is required."
        share = self.shares[failed]
        passed = f" ({share:.0%} passed)" if share else ""
        notes = list(self.notes.get(failed, ()))
        more = [f"… and {len(notes) - SHOWN} more."] if len(notes) > SHOWN else []
        return "\n".join([f"Stage `{failed}`: {_WORDS[failed]}{passed}.", *notes[:SHOWN], *more, self._credit()])

    def _credit(self) -> str:
        """Say what each stage gave, in order, and what that makes."""
        told = [
            f"{stage} {self.shares[stage]:.3g}" if stage in self.shares else f"{stage} not reached"
            for stage in self._stages()
        ]
        return f"Credit by stage: {', '.join(told)}; their product is the score, {self.score:.3g}."

    def _stages(self) -> Iterable[Stage]:
        """Return the stages that count for this problem; all of them where the end was not reached."""
        return [stage for stage in STAGES if stage in self.shares or not self.reached_end]


def refused(notes: Sequence[str]) -> Verdict:
    """Return the verdict on a file that the static gate refuses."""
    return Verdict({"gate": 0.0}, {"gate": notes}, status="invalid")


def does_not_compile(notes: Sequence[str], *, status: FeedbackStatus = "ok") -> Verdict:
    """Return the verdict on a file that the checker refuses, or that it cannot finish."""
    return Verdict({"gate": 1.0, "compiles": 0.0}, {"compiles": notes}, status=status)
