"""Find the evidence, then answer from it alone: two trainable prompts, so that it matters which of them is at fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Parameter, Values
from tracebench_hfqa.programs.base import LONGEST, Program, Reply, laid_out, user

FIND = "Copy the sentences of the context that are needed to answer the question."
ANSWER = "Answer the question based on the evidence."


class TwoHop(Program):
    """`find_evidence` sees context and question, `answer_question` sees evidence and question: two calls."""

    name = "two_hop"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Two texts."""
        return (
            Parameter(
                name="find_evidence",
                initial=FIND,
                description="What the model is told when it sees the whole context and must pick out the evidence for the question.",
                max_length=LONGEST,
            ),
            Parameter(
                name="answer_question",
                initial=self.initial(ANSWER),
                description=f"What the model is told when it sees only the evidence and must answer. {self.family.asks_for}",
                max_length=LONGEST,
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Ask for the evidence, then for the answer."""
        found = self.ask([user(f"{values['find_evidence']}\n\n{laid_out(asked)}\n\nEvidence:")], context)
        question = laid_out(asked, context=False)
        said = self.ask(
            [user(f"{values['answer_question']}\n\nEvidence:\n{found.text.strip()}\n\n{question}\n\nAnswer:")], context
        )
        return Reply(said.text, evidence=found.text, tokens=found.tokens + said.tokens)
