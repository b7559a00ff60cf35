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
from tracebench_engine.api.kit.answering import STATUS, Failure, NoModels, Phase, Refusal, error_body, turns
from tracebench_testing.local_http import JsonHandler, LocalServer

CHARACTERS_PER_TOKEN = 4
USD_PER_TOKEN = 1e-6

Answer = Callable[[str, int], str]
"""`(prompt, call) -> reply`: the text of all messages, and how many calls came before. May raise ModelError."""


class AnsweringModels(NoModels):
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


Complete = Callable[[list[dict[str, Any]], int], list[Completion]]
"""`(messages, n) -> completions`; raises BudgetExhausted or ModelError."""


class AnsweringServer:
    """Answers `POST /v1/chat/completions` on 127.0.0.1, a spent budget and a failed call as the gateway does."""

    def __init__(self, complete: Complete) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.complete = complete
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop it, and free its port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(LocalServer):
    complete: Complete


class _Handler(JsonHandler):
    server: _Server

    def do_POST(self) -> None:  # noqa: N802 - the base class names it
        """Answer one request."""
        request = self.read_json()
        try:
            self.send_json(200, _answer(self.server.complete(request["messages"], request.get("n") or 1)))
        except BudgetExhausted as spent:
            where = {"axis": spent.axis, "scope": spent.scope}
            self._fail(Failure(402, str(spent), "insufficient_quota", where))
        except ModelError as failed:
            self._fail(Failure(STATUS[failed.kind], str(failed), failed.kind, {"kind_of_failure": failed.kind}))

    def _fail(self, failure: Failure) -> None:
        self.send_json(failure.status, error_body(failure), failure.headers)


def _answer(completions: list[Completion]) -> dict[str, Any]:
    choices = [
        {"index": i, "message": {"role": "assistant", "content": c.text}, "finish_reason": "stop"}
        for i, c in enumerate(completions)
    ]
    sent = sum(c.usage.prompt_tokens for c in completions)
    received = sum(c.usage.completion_tokens for c in completions)
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    return {
        "id": "trial",
        "object": "chat.completion",
        "created": 0,
        "model": "in-process",
        "choices": choices,
        "usage": usage,
    }


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
