"""A door to models that stands in this process: replies come from a function, metering and caps are as strict as the gateway's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.llm.access import Phase
from tracebench_core.specs import Budget, Completion, Endpoint, Message, Role, Usage
from tracebench_core.specs.events import LLMCall

CHARACTERS_PER_TOKEN = 4
USD_PER_TOKEN = 1e-6

Answer = Callable[[str, int], str]
"""`(prompt, call) -> reply`: the text of all messages, and how many calls came before. May raise ModelError."""


class AnsweringModels:
    """Implements the engine's `Models` for trials. A failed call is counted apart from the calls that were answered."""

    def __init__(self, answer: Answer, *, caps: Budget) -> None:
        self._answer = answer
        self._caps = caps
        self._records: list[LLMCall] = []
        self._used = Usage()
        self.failed = 0

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask the function, `n` times.

        Raises:
            BudgetExhausted: when a cap was reached before this call.
            ModelError: when the function raised one.
        """
        del sampling
        self._demand()
        prompt = "\n\n".join(str(m["content"]) for m in messages)
        try:
            texts = [self._answer(prompt, self._used.llm_calls + self.failed + i) for i in range(n)]
        except ModelError as err:
            self.failed += 1
            self._note(
                LLMCall(
                    call=len(self._records), role=role, model="in-process", phase=phase, status="error", error=str(err)
                )
            )
            raise
        sent, received = _tokens(prompt), sum(map(_tokens, texts))
        cost = (sent + received) * USD_PER_TOKEN
        usage = Usage(llm_calls=1, prompt_tokens=sent, completion_tokens=received, usd=cost)
        self._used = self._used + usage
        self._note(
            LLMCall(
                call=len(self._records),
                role=role,
                model="in-process",
                phase=phase,
                status="ok",
                prompt_tokens=sent,
                completion_tokens=received,
                usd=cost,
            )
        )
        return [
            Completion(text=text, model="in-process", usage=usage if i == 0 else Usage())
            for i, text in enumerate(texts)
        ]

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Refuse: there is no server here.

        Raises:
            ModelError: always.
        """
        raise ModelError(f"A trial has no endpoint for the role `{role}` ({phase}).", kind="refused")

    def records(self, after: int = -1) -> list[LLMCall]:
        """Return the calls with numbers above `after`."""
        return self._records[after + 1 :]

    def used(self) -> Usage:
        """Return what was used."""
        return self._used

    def _demand(self) -> None:
        used = {"llm_calls": self._used.llm_calls, "tokens": self._used.tokens, "usd": self._used.usd or 0.0}
        for axis, amount in used.items():
            cap = getattr(self._caps, axis)
            if cap is not None and amount >= cap:
                raise BudgetExhausted(axis)

    def _note(self, record: LLMCall) -> None:
        self._records.append(record)


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
