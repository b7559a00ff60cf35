"""A model for tests: it answers in this process with what it was given to say."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.specs import Budget
from tracebench_testing.answering import Answer, AnsweringModels


class FakeModel(AnsweringModels):
    """Answers every role without a network. Calls are counted and capped as at the gateway.

    ```python
    model = FakeModel(["The answer is 4.", "The answer is 9."])
    feedback = evaluate_task("my_suite:sums", {"prompt": "Add."}, model=model)
    assert "Add." in model.prompts[0]
    ```

    Attributes:
        prompts: what was asked, in order: the text of all messages of each call.
    """

    def __init__(self, answers: str | Sequence[str] | Answer, *, caps: Budget | None = None) -> None:
        """Take one answer for all calls, answers in turn (the last one again and again), or a function of prompt and call number.

        Raises:
            ValueError: for an empty sequence of answers.
        """
        if not callable(answers) and not isinstance(answers, str) and not answers:
            raise ValueError("a FakeModel needs an answer")
        self.prompts: list[str] = []
        self._given = answers
        super().__init__(self._next, caps=caps or Budget())

    def _next(self, prompt: str, call: int) -> str:
        self.prompts.append(prompt)
        if callable(self._given):
            return self._given(prompt, call)
        if isinstance(self._given, str):
            return self._given
        return self._given[min(call, len(self._given) - 1)]
