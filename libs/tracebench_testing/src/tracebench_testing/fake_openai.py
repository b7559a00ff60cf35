"""An OpenAI-compatible chat server on 127.0.0.1 that fails as told and keeps its own log of what it served.

    python -m tracebench_testing.fake_openai --port 0 --rate 429=0.05 --rate 500=0.02

It prints its base URL. It is for tests of everything that talks to a model: real HTTP, no model.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tracebench_testing.local_http import JsonHandler, LocalServer

Fault = Literal[
    "429", "429-retry-after", "500", "401", "400", "hang", "html", "truncated", "empty", "drop", "broken-stream",
    "no-usage", "negative-usage", "absurd-usage",
]  # fmt: skip
"""The last three are served, with a usage that is missing or cannot be true; the others are not served."""

SERVED_FAULTS = frozenset({"no-usage", "negative-usage", "absurd-usage"})
STATUS = {"429": 429, "429-retry-after": 429, "500": 500, "401": 401, "400": 400}
HANG_SECONDS = 3600.0
RETRY_AFTER_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Served:
    """One answered request."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    stream: bool


@dataclass(slots=True)
class Log:
    """What the server saw: every request's body and key, and what it answered."""

    served: list[Served] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An answer that has a tool of the request's run."""

    name: str
    arguments: Mapping[str, Any]
    text: str = ""
    """What the model says with it."""


def echo(messages: list[dict[str, Any]]) -> str:
    """Answer with the last message's words."""
    content = messages[-1].get("content") or ""
    return f"echo: {content if isinstance(content, str) else json.dumps(content)}"


class FakeOpenAI:
    """A running server; use it as a context manager.

    Args:
        script: faults for the first requests, in order; None stands for an ordinary answer.
        rates: probability of each fault for the requests after that, drawn from `seed`.
        reply: the answer's text for a list of messages.
        act: the answer to a whole request, a text or a call of one of its tools; in place of `reply`.
        told: the answer for a list of messages and the header that says which job it is of; in place of `reply`.
        delay: seconds that an answer takes.
        pause: seconds between the pieces of a streamed answer.
        error_text: what error bodies say, to test that secrets in them do not travel.
        bills_worst: count the most that a provider may: a token for each byte of the request, and an answer as long as its limit.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        script: Iterable[Fault | None] = (),
        rates: Mapping[Fault, float] | None = None,
        reply: Callable[[list[dict[str, Any]]], str] = echo,
        act: Callable[[dict[str, Any]], str | ToolCall] | None = None,
        told: Callable[[list[dict[str, Any]], str | None], str] | None = None,
        delay: float = 0.0,
        pause: float = 0.0,
        seed: int = 0,
        error_text: str = "as scripted",
        bills_worst: bool = False,
    ) -> None:
        self.log = Log()
        self.reply = reply
        self.act = act
        self.told = told
        self.delay = delay
        self.pause = pause
        self.error_text = error_text
        self.bills_worst = bills_worst
        self.closing = threading.Event()
        self._script = list(script)
        self._rates = dict(rates or {})
        self._rng = random.Random(seed)  # noqa: S311 - reproducible faults
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self)
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __enter__(self) -> FakeOpenAI:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and free its port."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail_next(self, *faults: Fault | None) -> None:
        """Put faults before the next requests, and begin a new log."""
        with self._lock:
            self._script = list(faults)
            self.log = Log()

    def next_fault(self, request: dict[str, Any], key: str) -> Fault | None:
        """Log a request and decide what happens to it."""
        with self._lock:
            self.log.requests.append(request)
            self.log.keys.add(key)
            fault = self._script.pop(0) if self._script else self._draw()
            if fault is not None:
                self.log.faults.append(fault)
            return fault

    def count(self, served: Served) -> None:
        """Log an answer."""
        with self._lock:
            self.log.served.append(served)

    def _draw(self) -> Fault | None:
        point = self._rng.random()
        for fault, rate in self._rates.items():
            point -= rate
            if point < 0:
                return fault
        return None


class _Server(LocalServer):
    def __init__(self, address: tuple[str, int], fake: FakeOpenAI) -> None:
        super().__init__(address, _Handler)
        self.fake = fake


class _Handler(JsonHandler):
    server: _Server

    def do_GET(self) -> None:  # noqa: N802 - the base class names it
        """Answer `/v1/models`."""
        self.send_json(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})

    def do_POST(self) -> None:  # noqa: N802 - the base class names it
        """Answer `/v1/chat/completions`, or fail as told."""
        fake = self.server.fake
        request = self.read_json()
        key = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        fault = fake.next_fault(request, key)
        if fault is None or fault in SERVED_FAULTS or fault == "broken-stream":
            time.sleep(fake.delay)
            self._answer(request, fault)
        else:
            self._fail(fault)

    def _fail(self, fault: Fault) -> None:
        fake = self.server.fake
        if fault in STATUS:
            headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if fault == "429-retry-after" else {}
            message = f"{fault}: {fake.error_text}"
            self.send_json(STATUS[fault], {"error": {"message": message, "type": "fault", "code": fault}}, headers)
        elif fault == "hang":
            fake.closing.wait(HANG_SECONDS)
            self._drop()
        elif fault == "html":
            self.send_bytes(200, b"<!doctype html><title>Sign in</title>", "text/html")
        elif fault == "truncated":
            self.send_bytes(200, b'{"id": "x", "choices": [{"index": 0, "mess', "application/json")
        elif fault == "empty":
            self.send_json(
                200, _completion("fake", [], {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1})
            )
        else:
            self._drop()

    def _answer(self, request: dict[str, Any], fault: Fault | None) -> None:
        messages, model, stream = request["messages"], request.get("model", "fake"), bool(request.get("stream"))
        fake = self.server.fake
        found: str | ToolCall
        if fake.act:
            found = fake.act(request)
        elif fake.told:
            found = fake.told(messages, self.headers.get("X-Trace-Bench-Job"))
        else:
            found = fake.reply(messages)
        call = found if isinstance(found, ToolCall) else None
        words = (call.text if call else str(found)).split(" ")
        limit = request.get("max_completion_tokens") or request.get("max_tokens") or len(words)
        text, ending = " ".join(words[:limit]), "length" if len(words) > limit else "stop"
        tools = [_tool_call(call, len(messages))] if call else []
        prompt, completion = len(json.dumps(messages).split()), len(text.split())
        completion += sum(len(tool["function"]["arguments"].split()) for tool in tools)
        if self.server.fake.bills_worst:
            prompt, completion = int(self.headers["Content-Length"]), limit
        usage = _usage(prompt, completion, fault)
        if fault != "broken-stream":
            self.server.fake.count(Served(model, prompt, completion, stream))
        if stream:
            wants_usage = (request.get("stream_options") or {}).get("include_usage")
            ending = "" if fault == "broken-stream" else "tool_calls" if tools else ending
            self._stream(model, text, usage if wants_usage else None, ending=ending, tools=tools)
        else:
            message = {"role": "assistant", "content": text} | ({"tool_calls": tools} if tools else {})
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tools else ending}
            self.send_json(200, _completion(model, [choice], usage))

    def _stream(
        self, model: str, text: str, usage: dict[str, int] | None, *, ending: str, tools: list[dict[str, Any]]
    ) -> None:
        broken = not ending
        words = text.split(" ")
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        deltas += [{"content": word if i == 0 else f" {word}"} for i, word in enumerate(words)]
        deltas += [{"tool_calls": [{"index": i, **tool}]} for i, tool in enumerate(tools)]
        events = [_chunk(model, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
        events.append(_chunk(model, [{"index": 0, "delta": {}, "finish_reason": ending}]))
        if usage is not None:
            events.append(_chunk(model, []) | {"usage": usage})
        lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines[: len(lines) // 2] if broken else [*lines, b"data: [DONE]\n\n"]:
            time.sleep(self.server.fake.pause)
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        if broken:
            self.wfile.flush()
            self._drop()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _tool_call(call: ToolCall, number: int) -> dict[str, Any]:
    return {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
    }


def _completion(model: str, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> dict[str, Any]:
    body = {"id": "chatcmpl-fake", "object": "chat.completion", "created": 0, "model": model, "choices": choices}
    return body | ({"usage": usage} if usage is not None else {})


def _chunk(model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices}


def _usage(prompt: int, completion: int, fault: Fault | None) -> dict[str, int] | None:
    if fault == "no-usage":
        return None
    if fault == "negative-usage":
        prompt, completion = -prompt, -completion
    if fault == "absurd-usage":
        prompt *= 10**9
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def main() -> None:
    """Serve until interrupted, then print the log's totals as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds an answer takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--rate", action="append", default=[], metavar="FAULT=P", help=f"one of {', '.join(get_args(Fault))}"
    )
    args = parser.parse_args()
    rates: dict[Any, float] = {name: float(rate) for name, _, rate in (item.partition("=") for item in args.rate)}
    with FakeOpenAI(port=args.port, delay=args.delay, seed=args.seed, rates=rates) as server:
        print(server.base_url, flush=True)  # noqa: T201 - a program of its own
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            served = server.log.served
            tokens = sum(s.prompt_tokens + s.completion_tokens for s in served)
            print(json.dumps({"requests": len(server.log.requests), "served": len(served), "tokens": tokens}))  # noqa: T201


if __name__ == "__main__":
    main()
