"""A trainable prompt and trainable code that takes the answer out of the reply, run in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Limits, Parameter, Values
from tracebench_hfqa.programs.base import LONGEST, Program, Reply, laid_out, system, user

PROMPT = "Answer the question."
SIGNATURE = "def extract_answer(response, question):"
EXTRACT = f'''{SIGNATURE}
    """Return the answer that a reply of the model gives, in the form that is scored."""
    return response.split("Answer:")[-1].strip()
'''
AS_SAID = f'''{SIGNATURE}
    """Return the reply as it stands."""
    return response
'''
LIMITS = Limits(seconds=5.0, memory_mb=256)
PLACE = "{question}"


class Template(Program):
    """`prompt_template` and question make the prompt; `extract_answer` reads the reply: one call."""

    name = "template"

    @property
    def parameters(self) -> Sequence[Parameter]:
        """A text and a function."""
        return (
            Parameter(
                name="prompt_template",
                initial=self.initial(PLACE if self.family.verbatim else PROMPT),
                description=(
                    f"What the model is told; the question follows, or stands in place of `{PLACE}` where that is written. "
                    f"{self.family.asks_for}"
                ),
                max_length=LONGEST,
            ),
            Parameter(
                name="extract_answer",
                initial=AS_SAID if self.family.verbatim else EXTRACT,
                kind="code",
                signature=SIGNATURE,
                description="Takes the model's reply and the question, both text, and returns the answer as text.",
                max_length=LONGEST,
            ),
        )

    def answer(self, values: Values, asked: Mapping[str, Any], context: Context) -> Reply:
        """Ask once, then run the extraction."""
        question = str(asked["question"]) if self.family.verbatim else laid_out(asked)
        template = str(values["prompt_template"])
        messages = (
            [user(template.replace(PLACE, question))] if PLACE in template else [system(template), user(question)]
        )
        said = self.ask(messages, context)
        outcome = context.sandbox.call(
            str(values["extract_answer"]), "extract_answer", said.text, question, limits=LIMITS
        )
        if outcome.status != "ok":
            words = f"`extract_answer` failed on the reply {said.text[:300]!r}: {outcome.error}"
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=words))
        if not isinstance(outcome.value, str):
            words = f"`extract_answer` must return text, not {type(outcome.value).__name__}."
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=words))
        return Reply(outcome.value, tokens=said.tokens, said=said.text)
