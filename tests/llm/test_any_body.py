"""Bodies and answers drawn at random, on every wire: nothing fails inside, what is refused was not asked, and counts are the server's."""

from __future__ import annotations

import json
import math
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.llm.conftest import Door, Open
from tests.llm.scripted import InThread
from tests.whole import cells

from tracebench_core.specs import Budget
from tracebench_gateway.server.metering.ledger import read_ledger

CASES = int(os.environ.get("TRACEBENCH_FUZZ", "40"))
"""For each wire."""
PRICE = {"prompt": 0.150000000000001, "completion": 0.600000000000007, "cached": 0.0750000000000003, "written": 0.1875}
WIRES: dict[str, Callable[[Any, bool], tuple[str, dict[str, Any]]]] = {
    "chat": lambda text, stream: (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": text}], "stream": stream},
    ),
    "responses": lambda text, stream: ("/v1/responses", {"input": text, "stream": stream}),
    "messages": lambda text, stream: (
        "/v1/messages",
        {"messages": [{"role": "user", "content": text}], "stream": stream, "max_tokens": 9},
    ),
    "gemini": lambda text, stream: (
        f"/v1beta/models/fake:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}",
        {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    ),
}
KEYS = [
    "temperature", "top_p", "max_tokens", "max_output_tokens", "n", "stop", "seed", "tools", "tool_choice", "response_format",
    "stream", "logit_bias", "system", "instructions", "input", "messages", "contents", "generationConfig", "systemInstruction",
    "extra_body", "metadata", "user", "thinking", "reasoning", "text", "model", "toolConfig", "stop_sequences", "service_tier",
    "previous_response_id", "store", "include", "stream_options", "safetySettings", "cachedContent", "base_url", "api_key",
    "\u202eevil", "",
]  # fmt: skip
ODD = [
    "",
    " ",
    "\x00",
    "\ud800",
    "\udfff tail",
    "\u202e",
    "é" * 50,
    "😀" * 9,
    "\ufeff",
    "a\r\n\r\nb",
    "</s>",
    "{{}}",
    "x" * 70_000,
]


class Behaviour(NamedTuple):
    """What the server does with one request, and what it bills."""

    name: str
    usage: Any = None
    billed: tuple[int, int, int, int] | None = None
    """Prompt, completion, cached, written; None where it counts nothing, or nothing that can be true."""
    status: int = 200
    body: bytes | None = None
    cut: bool = False


def credible(rng: random.Random) -> Behaviour:
    """Return an ordinary answer, counted in one of the shapes that servers have."""
    cached, written = rng.randrange(3), rng.randrange(3)
    prompt, completion = rng.randrange(5, 60), rng.randrange(0, 40)
    shape = rng.choice([int, float, str])
    usage = {"prompt_tokens": shape(prompt), "completion_tokens": shape(completion),
             "prompt_tokens_details": {"cached_tokens": shape(cached), "cache_creation_tokens": shape(written)}}  # fmt: skip
    return Behaviour("ok", usage, (prompt, completion, cached, written))


ABSURD: list[Any] = [
    None, {}, [], "many", 7, {"prompt_tokens": -5, "completion_tokens": 3}, {"prompt_tokens": 1e30, "completion_tokens": 1},
    {"prompt_tokens": "1e30", "completion_tokens": "x"}, {"prompt_tokens": 5, "completion_tokens": -1}, {"prompt_tokens": True},
    {"prompt_tokens": 10**400, "completion_tokens": 1}, {"prompt_tokens": [1], "completion_tokens": {}},
    {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 9}},
    {"total_tokens": -1}, {"total_tokens": "nan"},
    {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": -9}},
]  # fmt: skip
WHOLE: list[Any] = [
    {"choices": []}, {"choices": None}, {"choices": [None]}, {"choices": ["x"]}, {"choices": [{}]}, {"choices": [{"message": None}]},
    {"choices": [{"message": "x"}]}, {"choices": [{"message": {"content": 7}}]}, {"choices": [{"message": {"content": {"a": 1}}}]},
    {"choices": [{"message": {"tool_calls": "x"}}]}, {"choices": [{"message": {"tool_calls": [None]}}]},
    {"choices": [{"message": {"tool_calls": [{"function": None}]}}]},
    {"choices": [{"message": {"tool_calls": [{"function": {"name": 1}}]}}]},
    {"choices": [{"message": {"content": "x"}, "finish_reason": 7}]}, {"choices": {"a": 1}}, [], None, "x", 7,
    {"error": "x"}, {"error": {}}, {"choices": [{"message": {"content": "\ud800"}}]},
    {"choices": [{"message": {"content": [{"type": "text", "text": "x"}]}}]},
    {"choices": [{"message": {"content": "x", "reasoning_content": 7}}]}, {"choices": [{"message": {"refusal": 7}}]},
    {"choices": [{"message": {"function_call": "x"}}]}, {"choices": [{"delta": {"content": 7}}]}, {"choices": [{"delta": None}]},
    {"choices": [{"delta": {"tool_calls": [{"index": "x"}]}}]}, {"choices": [{"delta": {"tool_calls": [{"index": -1, "function": {}}]}}]},
]  # fmt: skip
"""What an answer, or an event of a stream, may be that is none."""


def draw(rng: random.Random) -> Behaviour:
    """Return what the server is to do next."""
    kind = rng.random()
    if kind < 0.45:
        return credible(rng)
    if kind < 0.6:
        usage = rng.choice(ABSURD)
        return Behaviour(f"usage {usage!r:.60}", usage)
    if kind < 0.68:
        return Behaviour("cut", {"prompt_tokens": 5, "completion_tokens": 2}, cut=True)
    if kind < 0.8:
        status = rng.choice([429, 500, 502, 503, 400, 401, 404, 413, 204, 302, 600])
        return Behaviour(
            f"status {status}", status=status, body=rng.choice([b"", b"{}", b"<html>", b'{"error": 1}', b"\xff"])
        )
    answer = rng.choice(WHOLE)
    return Behaviour(f"answer {answer!r:.80}", body=json.dumps(answer).encode())


class Server(InThread):
    """Does as drawn, and keeps how often it was asked."""

    def __init__(self) -> None:
        self.next = Behaviour("ok", {"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 0, 0))
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked += 1
                text, ends = outer.answer(bool(body.get("stream")))
                self.send_response(outer.next.status)
                self.send_header("Content-Length", str(len(text) + (50 if outer.next.cut else 0)))
                if outer.next.status == 429:
                    self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(text)
                self.close_connection = outer.next.cut or ends

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def answer(self, stream: bool) -> tuple[bytes, bool]:
        """Return what is sent, and whether the connection ends with it."""
        told = self.next
        if told.body is not None:
            return (
                b"data: " + told.body + b"\n\ndata: [DONE]\n\n" if stream and told.status == 200 else told.body
            ), False
        usage = {} if told.usage is None else {"usage": told.usage}
        if stream:
            pieces = [{"choices": [{"index": 0, "delta": {"content": "one "}}]}, {"choices": [{"index": 0, "delta": {"content": "two"}}]},
                      {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], **usage}]  # fmt: skip
            text = b"".join(b"data: " + json.dumps(p).encode() + b"\n\n" for p in pieces) + b"data: [DONE]\n\n"
        else:
            message = {"role": "assistant", "content": "one two"}
            text = json.dumps(
                {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **usage}
            ).encode()
        return (text[: len(text) // 3] if told.cut else text), told.cut


def value(rng: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    scalars: list[Any] = [
        None,
        True,
        False,
        0,
        -1,
        2,
        9,
        1 << 31,
        1 << 70,
        10**400,
        0.5,
        -0.0,
        1e308,
        5e-324,
        math.nan,
        math.inf,
        *ODD,
    ]
    kind = rng.random()
    if depth > 3 or kind < 0.6:
        return rng.choice(scalars)
    if kind < 0.7:
        return [rng.randrange(9)] * rng.choice([0, 1, 5_000])
    if kind < 0.8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 0.9:
        names = [*KEYS, "type", "function", "name", "role", "content", "parts"]
        return {rng.choice(names): value(rng, depth + 1) for _ in range(3)}
    nested: Any = rng.choice(scalars)
    for _ in range(rng.choice([3, 90, 2_000])):
        nested = {"properties": {"a": nested}} if rng.random() < 0.5 else [nested]
    return [{"type": "function", "function": {"name": "f", "parameters": nested}}]


def body_of(rng: random.Random, wire: str) -> tuple[str, bytes]:
    """Return an address and a body that may be sound, or not."""
    path, body = WIRES[wire](rng.choice(["Say ok.", *ODD]), rng.random() < 0.4)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        body[rng.choice(KEYS)] = value(rng)
    try:
        text = json.dumps(body).encode()
    except RecursionError:
        text = b"[" * 100_000
    match rng.randrange(14):
        case 0:
            text = text[:-1] + b', "stream": false, "stream": true, "max_tokens": 3, "max_tokens": 4}'
        case 1:
            text = text[: len(text) // 2]
        case 2:
            text = rng.choice(
                [b"", b"null", b"[]", b"7", b"\xff\xfe", b"\xef\xbb\xbf" + text, text + b"x", b'"\\ud800"']
            )
        case 3:
            text = text.replace(b"Say", b"S\xff")
        case _:
            pass
    return path, text


def send(door: Door, path: str, body: bytes, rng: random.Random) -> int | None:
    """Send a request in one of the ways that clients have; return the status, or None where the client went away."""
    endpoint = door.client.endpoint("agent")
    address = urlsplit(endpoint.base_url)
    key = endpoint.api_key.get_secret_value()
    way = rng.randrange(10)
    if way == 0:  # goes away before its body is whole
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as raw:
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body) + 9}\r\n\r\n"
            raw.sendall(head.encode() + body)
        return None
    connection = HTTPConnection(address.hostname or "", address.port, timeout=120)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        if way < 4:
            places = sorted(rng.sample(range(1, max(len(body), 2)), min(3, max(len(body) - 1, 1))))
            pieces = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True) if body[a:b]]
            connection.request("POST", path, iter(pieces), headers, encode_chunked=True)
        else:
            connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        if way == 9 and answer.status == 200:  # goes away in the middle of the answer
            answer.read(1)
            return None
        answer.read()
        return answer.status
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("wire", "is_strict"),
    cells(product(WIRES, [False, True]), always=zip([*WIRES][::2], [False, True], strict=True)),
)
def test_whatever_is_sent_and_answered_the_account_is_the_servers(open_door: Open, wire: str, is_strict: bool) -> None:
    rng = random.Random(f"{wire} {is_strict} {os.environ.get('TRACEBENCH_FUZZ_SEED', '0')}")
    with Server() as server:
        budget = Budget(tokens=10**9, strict=True) if is_strict else Budget()
        door = open_door(
            mode="real",
            base_url=server.base_url,
            prices={"fake": PRICE},
            max_retries=0,
            outage_limit=0,
            budget=budget,
            max_tokens=50,
        )
        ledger = door.run_dir / "llm/ledger.jsonl"
        seen, served, sums, expected = 0, 0, [Decimal(0), 0, 0], [Decimal(0), 0, 0]
        for number in range(CASES):
            server.next, before = draw(rng), server.asked
            path, body = body_of(rng, wire)
            where = f"case {number}: {server.next.name} | {path} {body[:300]!r}"
            try:
                status = send(door, path, body, rng)
            except (HTTPException, OSError) as err:
                raise AssertionError(f"{where}: {err!r}") from err
            asked = server.asked - before
            lines = calls_of(ledger, least=seen + asked)
            new, seen = lines[seen:], len(lines)
            served += asked
            assert status != 500 or server.next.status != 200, f"{where}: the gateway failed: {new}"
            assert len(new) >= asked, f"{where}: asked {asked}, filed {len(new)}"
            if not asked:
                assert status is None or status >= 400, f"{where}: answered {status} and asked nobody"
                assert not any(line["prompt_tokens"] for line in new if line["status"] == "ok"), where
            if status is not None and asked and server.next.billed and status == 200:
                assert len(new) == asked, where
                for line in new:
                    told = tuple(line[f"{n}_tokens"] for n in ("prompt", "completion", "cached", "written"))
                    assert told == server.next.billed, f"{where}: {line}"
                    prompt, completion, cached, written = (Decimal(n) for n in told)
                    counts = {
                        "prompt": prompt - cached - written,
                        "completion": completion,
                        "cached": cached,
                        "written": written,
                    }
                    exact = sum(Decimal(repr(PRICE[name])) * count for name, count in counts.items()) / 1_000_000
                    assert line["usd"] == float(exact), f"{where}: {line}"
                    expected = [expected[0] + exact, expected[1] + told[0], expected[2] + told[1]]
                    sums = [
                        sums[0] + Decimal(repr(line["usd"])),
                        sums[1] + line["prompt_tokens"],
                        sums[2] + line["completion_tokens"],
                    ]
            for line in new:
                assert line["prompt_tokens"] >= 0 <= line["completion_tokens"], f"{where}: {line}"
                assert line["usd"] is not None, f"{where}: {line}"
                assert line["prompt_tokens"] < 10**7 > line["completion_tokens"], f"{where}: {line}"
        assert served > CASES // 8
        assert sums[1:] == expected[1:]
        assert abs(sums[0] - expected[0]) < Decimal("1e-15")
        server.next = Behaviour("ok", {"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 0, 0))
        assert send(door, *sound(wire), random.Random(7)) == 200, "the gateway is not what it was"


def sound(wire: str) -> tuple[str, bytes]:
    """Return a request that any gateway answers."""
    path, body = WIRES[wire]("Say ok.", False)
    return path, json.dumps(body).encode()


def calls_of(ledger: Path, *, least: int = 0) -> list[dict[str, Any]]:
    """Return the calls on a ledger; those of callers who went away are waited for."""
    for _ in range(500):
        lines = [line for line in read_ledger(ledger) if line["kind"] == "llm_call"] if ledger.exists() else []
        if len(lines) >= least:
            break
        time.sleep(0.02)
    return lines
