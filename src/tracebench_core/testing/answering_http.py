"""The function that stands in for a model, behind HTTP: what a program of a trial reaches under the address of the gateway."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.llm.gateway.errors import STATUS, Failure, error_body
from tracebench_core.specs import Completion

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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    complete: Complete

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Stay silent."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        try:
            self._send(200, _answer(self.server.complete(request["messages"], request.get("n") or 1)))
        except BudgetExhausted as spent:
            where = {"axis": spent.axis, "scope": spent.scope}
            self._fail(Failure(402, str(spent), "insufficient_quota", where))
        except ModelError as failed:
            self._fail(Failure(STATUS[failed.kind], str(failed), failed.kind, {"kind_of_failure": failed.kind}))

    def _fail(self, failure: Failure) -> None:
        self._send(failure.status, error_body(failure), failure.headers)

    def _send(self, status: int, payload: dict[str, Any], headers: Mapping[str, str] = MappingProxyType({})) -> None:
        body = json.dumps(payload).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


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
