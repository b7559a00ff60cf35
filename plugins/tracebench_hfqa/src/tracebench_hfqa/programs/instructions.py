"""One trainable text before the question: plain, or followed by the request to think first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Parameter, Values
from tracebench_hfqa.programs.base import LONGEST, Program, Reply, laid_out, user

DEFAULT = "Answer the question."
WITH_CONTEXT = "Answer the question based on the context."


class Instructions(Program):
    """`instructions`, context, question: one call."""

    name = "instructions"
    ending = "Answer:"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """One text."""
        default = DEFAULT if self.entry.context_format in {"none", "bbeh"} else WITH_CONTEXT
        return (
            Parameter(
                name="instructions",
                initial=self.initial(default),
                description=f"What the model is told before each question: how to reason, how to answer. {self.family.asks_for}",
                max_length=LONGEST,
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Ask once."""
        return self.ask([user(f"{values['instructions']}\n\n{laid_out(asked)}\n\n{self.ending}")], context)


class ChainOfThought(Instructions):
    """The same, and the model is asked to reason before it answers."""

    name = "chain_of_thought"
    ending = "Reason step by step. Then write `Answer: ` and the answer alone, on a line of its own."
