"""A server on 127.0.0.1 that answers word for word as told, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class InThread:
    """A server that answers in a thread while its block is entered."""

    _server: ThreadingHTTPServer
    _thread: threading.Thread

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Scripted(InThread):
    """Answers every POST with `answer`: an object whole, a list of objects as a stream of events; `under` a path lists its models."""

    def __init__(
        self, answer: Any, *, status: int = 200, headers: dict[str, str] | None = None, under: str = "/v1"
    ) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.send_response(200 if self.path == f"{under}/models" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                scripted.asked.append((self.path, body))
                scripted.headers.append(dict(self.headers))
                given = scripted.answer
                if isinstance(given, list):
                    text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in given) + "data: [DONE]\n\n"
                else:
                    text = json.dumps(given)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text.encode())), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)


def chat(message: dict[str, Any], *, finish_reason: str = "stop", usage: Any = None) -> dict[str, Any]:
    """Return a whole answer of the chat API."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    counts = usage or {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice], "usage": counts}


def chunks(*deltas: dict[str, Any], finish_reason: str = "stop") -> list[dict[str, Any]]:
    """Return a streamed answer of the chat API."""
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    pieces = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}
    return [*pieces, last, head | {"choices": [], "usage": usage}]
