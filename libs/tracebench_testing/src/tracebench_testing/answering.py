"""A door to models that stands in this process: replies come from a function, metering and caps are as strict as the gateway's."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import SecretStr

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Budget, Completion, Endpoint, Message, Role, Usage, amounts_of
from tracebench_core.specs.events import LLMCall
from tracebench_engine.api.kit.answering import Phase, Refusal, turns
from tracebench_testing.answering_http import AnsweringServer

CHARACTERS_PER_TOKEN = 4
USD_PER_TOKEN = 1e-6

Answer = Callable[[str, int], str]
"""`(prompt, call) -> reply`: the text of all messages, and how many calls came before. May raise ModelError."""


class AnsweringModels:
    """Implements the engine's `Models` for trials, on the wire for one role. Failed calls are counted apart from answered ones."""

    def __init__(self, answer: Answer, *, caps: Budget) -> None:
        self._answer = answer
        self._caps = caps
        self._records: list[LLMCall] = []
        self._used = Usage()
        self._refusal: Refusal | None = None
        self.failed = 0
        self._section = self._before = 0
        self._lock = threading.RLock()
        self._server: AnsweringServer | None = None

    def complete(
        self, messages: Sequence[Message], *, role: Role, phase: Phase = "training", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask the function, `n` times: as at the gateway, `n` completions are `n` calls, and as many prompts.

        Raises:
            BudgetExhausted: when a cap was reached before this call.
            ModelError: when the function raised one.
        """
        del sampling
        if phase == "training":
            self._demand(n)
        prompt = "\n\n".join(str(m["content"]) for m in messages)
        try:
            number = self._number()
            texts = [self._answer(prompt, number + i) for i in range(n)]
        except ModelError as err:
            with self._lock:
                self.failed += 1
                self._note(role, phase, status="error", error=str(err))
            raise
        with self._lock:
            usage = sum((self._charge(prompt, text, role=role, phase=phase) for text in texts), Usage())
        return [
            Completion(text=text, model="in-process", usage=usage if i == 0 else Usage())
            for i, text in enumerate(texts)
        ]

    def endpoint(self, role: Role, phase: Phase = "training") -> Endpoint:
        """Return the address of a server that asks the function; it runs from the first such question until `close`."""
        with self._lock:
            if self._server is None:
                self._server = AnsweringServer(lambda messages, n: self.complete(messages, role=role, phase=phase, n=n))
            return Endpoint(base_url=self._server.base_url, api_key=SecretStr("trial"), model="in-process")

    def close(self) -> None:
        """End the server, if there is one."""
        if self._server is not None:
            self._server.close()

    def records(self, after: int = 0) -> list[LLMCall]:
        """Return the calls with numbers above `after`."""
        return self._records[after:]

    def used(self) -> Usage:
        """Return what was used."""
        return self._used

    def refusal(self, phase: Phase = "training") -> Refusal | None:
        """Return the cap that first turned a training call away; those of scoring have none here."""
        return self._refusal if phase == "training" else None

    def start_clock(self) -> float | None:
        """Return None: no call is timed."""
        return None

    def began(self) -> float | None:
        """Return None: no call is timed."""
        return None

    def end_training(self) -> None:
        """Do nothing: no call is under way."""

    def score_anew(self) -> None:
        """Do nothing: no scoring is cut short here."""

    def _demand(self, calls: int) -> None:
        for axis, amount in amounts_of(self._used + Usage(llm_calls=calls - 1)).items():
            cap = getattr(self._caps, axis)
            if cap is not None and (amount or 0.0) >= cap:
                self._refusal = self._refusal or Refusal(axis, "job")
                raise BudgetExhausted(axis)

    def _charge(self, prompt: str, text: str, *, role: Role, phase: Phase) -> Usage:
        sent, received = _tokens(prompt), _tokens(text)
        cost = (sent + received) * USD_PER_TOKEN
        usage = Usage(llm_calls=1, prompt_tokens=sent, completion_tokens=received, usd=cost)
        if phase == "training":
            self._used = self._used + usage
        self._note(role, phase, status="ok", prompt_tokens=sent, completion_tokens=received, usd=cost)
        return usage

    def _number(self) -> int:
        """Return how many calls came before; in a turn, as if its section had come in order."""
        turn = turns.current()
        if turn is None:
            return self._used.llm_calls + self.failed
        place = turn.place("")
        with self._lock:
            if place.section != self._section:
                self._section, self._before = place.section, self._used.llm_calls + self.failed
            return self._before + place.offset

    def _note(self, role: Role, phase: Phase, **told: Any) -> None:
        self._records.append(LLMCall(call=len(self._records) + 1, role=role, model="in-process", phase=phase, **told))


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
