"""Instructions and demonstrations, both trainable: what demonstration optimizers work on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Parameter, Values
from tracebench_hfqa.programs.base import Reply, laid_out, user
from tracebench_hfqa.programs.instructions import Instructions

MOST = 8
SHAPE = '[{"question": "…", "answer": "…"}, …]'


class FewShot(Instructions):
    """`instructions`, `demonstrations`, question: one call."""

    name = "few_shot"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """A text, and a list of demonstrations that is empty at first."""
        return (
            *super().parameters,
            Parameter(
                name="demonstrations",
                initial=[],
                kind="json",
                description=f"At most {self._most} worked questions that are shown before each question: {SHAPE}.",
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Ask once, after the demonstrations."""
        shown = "".join(f"Question: {q}\n\nAnswer: {a}\n\n---\n\n" for q, a in self._pairs(values["demonstrations"]))
        return self.ask([user(f"{values['instructions']}\n\n{shown}{laid_out(asked)}\n\n{self.ending}")], context)

    @property
    def _most(self) -> int:
        return self.options.demonstrations or MOST

    def _pairs(self, raw: JsonValue) -> list[tuple[str, str]]:
        """Check the demonstrations; what a trainer made of them may be anything."""
        good = isinstance(raw, list) and all(
            isinstance(d, dict)
            and set(d) == {"question", "answer"}
            and all(isinstance(v, str | int | float | bool) for v in d.values())
            for d in raw
        )
        if not good or not isinstance(raw, list):
            raise EvaluationFailed(
                Feedback(score=0.0, status="invalid", text=f"`demonstrations` must be a list: {SHAPE}.")
            )
        if len(raw) > self._most:
            words = f"`demonstrations` holds {len(raw)}; at most {self._most} are allowed."
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=words))
        return [(str(d["question"]), str(d["answer"])) for d in raw if isinstance(d, dict)]
