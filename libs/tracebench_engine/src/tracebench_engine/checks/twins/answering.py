"""Answers a library's own program as its job was answered, over HTTP on 127.0.0.1, and keeps what it asked."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tracebench_engine.checks.twins.told import Call, Told, key_of, prompt_of

GONE = 402
FAILED = 500


class Gone(Exception):  # noqa: N818 - named for what it says
    """The recording holds no answer."""


class Answering:
    """A server for one program; use it as a context manager.

    A prompt that the job sent is answered as it was, the n-th time as the n-th time. Any other is answered by the earliest reply that
    nobody had yet: some libraries' prompts differ from run to run by more than the candidates. Both are counted.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._left = dict(enumerate(told.calls))
        self._turns: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self.api_key = secrets.token_hex(16)
        self.visited: dict[str, None] = {}
        """Candidates in the order in which they were first measured."""
        self.measured: list[tuple[str, str]] = []
        self.prompts: list[str] = []
        self.gone = ""
        """What was asked first that the recording does not hold."""
        self.ours: set[str] = set()
        """Modules of Trace-Bench that a process of the program had imported."""
        self.version = ""
        self.last = time.monotonic()
        """When it asked for something last."""
        self._server = _Server(("127.0.0.1", 0), self)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def measure(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what a candidate came to on examples.

        Raises:
            Gone: when the job did not measure this, or not so often.
        """
        key = key_of(asked["values"])
        with self._lock:
            self.version = asked["version"]
            self.ours |= set(asked["ours"])
            self._heard()
            self.visited.setdefault(key)
            return [self._result(key, example)._asdict() | {"example": example} for example in asked["examples"]]

    def complete(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return a completion in the shape of OpenAI's API.

        Raises:
            Gone: when the job was answered nothing more.
        """
        prompt = prompt_of(asked["messages"])
        with self._lock:
            self._heard()
            taken = [self._take(prompt) for _ in range(asked.get("n") or 1)]
        if failed := next((call.error for call in taken if call.error), ""):
            raise RuntimeError(failed)
        choices = [
            {"index": i, "message": {"role": "assistant", **call.message}, "finish_reason": call.finish_reason}
            for i, call in enumerate(taken)
        ]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "recorded", "object": "chat.completion", "created": 0, "model": asked.get("model", ""),
                "choices": choices, "usage": usage}  # fmt: skip

    def _heard(self) -> None:
        self.last = time.monotonic()
        if self.gone:
            raise Gone(self.gone)

    def _result(self, key: str, example: str) -> Any:
        place = (key, example)
        known = self._told.results.get(place, ())
        turn = self._turns[place]
        if turn >= len(known):
            named = self._told.candidates.get(key)
            times = f"{len(known)} times" if known else "never"
            what = (
                f"`{named}` on `{example}` once more, which the job measured {times}"
                if named
                else "a candidate that the job never had"
            )
            raise self._no(f"it asked to measure {what}")
        self._turns[place] += 1
        self.measured.append(place)
        return known[turn]

    def _take(self, prompt: str) -> Call:
        place = next((i for i, call in self._left.items() if call.prompt == prompt), next(iter(self._left), None))
        if place is None:
            raise self._no("it asked its model once more than the job did")
        self.prompts.append(prompt)
        return self._left.pop(place)

    def _no(self, words: str) -> Gone:
        self.gone = self.gone or words
        return Gone(self.gone)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], answering: Answering) -> None:
        super().__init__(address, _Handler)
        self.answering = answering

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a program that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Stay silent."""

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answering = self.server.answering
        if self.headers.get("Authorization") != f"Bearer {answering.api_key}":
            self._send(401, {"error": {"message": "no such key"}})
            return
        try:
            answer = answering.measure if self.path == "/v1/measure" else answering.complete
            self._send(200, answer(json.loads(body)))
        except Gone as gone:
            self._send(GONE, {"error": {"message": str(gone)}})
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as err:
            self._send(FAILED, {"error": {"message": str(err)}})

    def _send(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
