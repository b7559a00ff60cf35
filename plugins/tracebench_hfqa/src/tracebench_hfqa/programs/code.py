"""A trainable prompt in front of a programming problem; the reply is the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Parameter, Values
from tracebench_hfqa.programs.base import LONGEST, Program, Reply, system, user

PROMPT = "Write the function that is asked for."


class CodeProgram(Program):
    """`prompt_template`, problem: one call."""

    name = "code"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """One text."""
        return (
            Parameter(
                name="prompt_template",
                initial=self.initial(PROMPT),
                description=f"What the model is told before each programming problem. {self.family.asks_for}",
                max_length=LONGEST,
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Ask once."""
        return self.ask([system(str(values["prompt_template"])), user(asked["question"])], context)
