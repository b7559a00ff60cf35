"""The function that stands in for a model, behind HTTP: what a program of a trial reaches under the address of the gateway."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Completion
from tracebench_engine.api.kit.answering import STATUS, Failure, error_body
from tracebench_testing.local_http import JsonHandler, LocalServer

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
