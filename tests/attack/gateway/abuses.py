"""Abuses of the gateway, as data: what each sends, and how the gateway may answer. Run as a script, prints the outcomes as a table.

Each is given a bare line to the gateway of one job and tells what came of it in a word: a status code, or `closed`.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

SAY = [{"role": "user", "content": "hi"}]
SLOW = 15.0
"""Seconds after which a connection that is left open counts as left open."""


class Line(NamedTuple):
    """A way to the gateway, with the keys that a hostile program holds, and one that it does not."""

    host: str
    port: int
    key: str
    engine_key: str

    def send(
        self, body: bytes, *, path: str = "/v1/chat/completions", key: str | None = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        """Send one POST; returns the status and the JSON answered."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SLOW)
        head = {"Authorization": f"Bearer {self.key if key is None else key}"} | headers
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # refused before it was all sent
                connection.request("POST", path, body, head)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def ask(self, **fields: Any) -> str:
        """Send a chat request with these fields; returns the status, with words wherever it is no success."""
        return self.word(json.dumps({"messages": SAY} | fields).encode())

    def word(self, body: bytes, **options: Any) -> str:
        """Send a body; returns the status, and sees that a refusal says why."""
        status, answer = self.send(body, **options)
        if status != http.client.OK:
            error = answer["error"]
            if not error["message"] or "Traceback" in error["message"]:
                raise AssertionError(f"no words: {answer}")
        return str(status)

    def raw(self, *pieces: bytes) -> str:
        """Send bytes; returns the status of what comes back, or how it ended."""
        with socket.create_connection((self.host, self.port), timeout=SLOW) as line:
            try:
                for piece in pieces:
                    line.sendall(piece)
                got = line.recv(64)
            except TimeoutError:
                return "left open"
            except OSError:
                return "closed"
            return got.split(b" ")[1].decode() if got else "closed"

    def head(self, path: str = "/v1/chat/completions") -> bytes:
        """Return the beginning of a request with the job's key."""
        return f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\n".encode()


class Abuse(NamedTuple):
    """One abuse; `expected` are the answers that count as contained."""

    name: str
    run: Callable[[Line], str]
    expected: frozenset[str]


def _abuse(name: str, expected: str, run: Callable[[Line], str]) -> Abuse:
    return Abuse(name, run, frozenset(expected.split()))


def _fields(name: str, **fields: Any) -> Abuse:
    return _abuse(name, "400", lambda line: line.ask(**fields))


def _without_key(line: Line) -> str:
    return line.word(json.dumps({"messages": SAY}).encode(), key="")


def _crowd(line: Line) -> str:
    """Hold as many idle connections as the gateway lets stand, and ask beside them."""
    with_idle: list[socket.socket] = []
    try:
        for _ in range(400):
            with suppress(OSError):
                with_idle.append(socket.create_connection((line.host, line.port), timeout=SLOW))
        return line.ask()
    finally:
        for idle in with_idle:
            idle.close()


def _slow_head(line: Line) -> str:
    return line.raw(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX: ")


def _back_in_time(line: Line) -> str:
    return line.word(b'{"elapsed": -1e12}', path="/ledger/clock")


def _back_in_time_as_engine(line: Line) -> str:
    return line.word(b'{"elapsed": -1e12}', path="/ledger/clock", key=line.engine_key)


DEEP = b'{"messages": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"
WIDE_PARTS = [{"role": "user", "content": [{"type": "text", "text": "x"}] * 3}]

ABUSES = [
    # bodies
    _abuse("no JSON", "400", lambda line: line.word(b"{")),
    _abuse("an empty body", "400", lambda line: line.word(b"")),
    _abuse("a list", "400", lambda line: line.word(b"[1]")),
    _abuse("no UTF-8", "400", lambda line: line.word(b'{"messages": "\xff"}')),
    _abuse("half a character", "400", lambda line: line.word(b'{"messages": [{"role": "user", "content": "\\ud800"}]}')),
    _abuse("half a character in a name", "400", lambda line: line.word(b'{"messages": [{"role": "user", "\\udfff": 1}]}')),
    _abuse("20,000 lists in each other", "400", lambda line: line.word(DEEP)),
    _fields("300 objects in each other", tools=[json.loads('{"a": ' * 300 + "1" + "}" * 300)]),
    _abuse("40 MB", "413", lambda line: line.word(b" " * (40 << 20))),
    _abuse("a length of 10**30", "400 413", lambda line: line.raw(line.head() + b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\n")),
    _abuse("a negative length", "400", lambda line: line.raw(line.head() + b"Content-Length: -5\r\n\r\n")),
    _abuse(
        "40 MB in chunks",
        "413 closed",
        lambda line: line.raw(
            line.head() + b"Transfer-Encoding: chunked\r\n\r\n", *[b"100000\r\n" + b" " * (1 << 20) + b"\r\n"] * 40
        ),
    ),
    # numbers
    _abuse("a temperature that is no number", "400", lambda line: line.word(b'{"messages": [], "temperature": NaN}')),
    _abuse("an infinite temperature", "400", lambda line: line.word(b'{"messages": [], "temperature": 1e999}')),
    _abuse("a whole number of 5,000 digits", "400", lambda line: line.word(b'{"seed": ' + b"9" * 5000 + b"}")),
    _fields("n is true", n=True),
    _fields("n is 0", n=0),
    _fields("n is a million", n=10**6),
    _fields("n is a half", n=0.5),
    _fields("max_tokens as text", max_tokens="9" * 40),
    _fields("max_tokens is negative", max_tokens=-1),
    _fields("max_tokens beyond any model", max_tokens=10**15),
    _fields("max_completion_tokens is true", max_completion_tokens=True),
    # shapes
    _fields("no messages", messages=[]),
    _fields("messages that are none", messages=[1, None]),
    _fields("a role that is a list", messages=[{"role": ["user"], "content": "x"}]),
    _fields("content that is a number", messages=[{"role": "user", "content": 5}]),
    _fields("parts that are texts", messages=[{"role": "user", "content": ["x"]}]),
    _fields("calls of tools that are texts", messages=[{"role": "assistant", "tool_calls": ["x"]}]),
    _fields("tools that are a text", tools="x"),
    _fields("stop that is an object", stop={"a": 1}),
    _fields("stream that is a text", stream="yes"),
    _fields("a model that is a list", model=["stub"]),
    _fields("extra_body that is a text", extra_body="x"),
    # ways out
    _fields("another server", api_base="http://elsewhere.example"),
    _fields("another server in extra_body", extra_body={"base_url": "http://elsewhere.example"}),
    _fields("another key", api_key="sk-mine"),
    _fields("another header", extra_headers={"Authorization": "Bearer sk-mine"}),
    _fields("a mocked answer", mock_response="free"),
    _abuse("another model", "404", lambda line: line.ask(model="gpt-9-turbo")),
    # keys
    _abuse("no key", "401", _without_key),
    _abuse("a key of one character more", "401", lambda line: line.word(b"{}", key=line.key + "x")),
    _abuse("a key of nonsense", "401", lambda line: line.word(b"{}", key="tb-%%%.000")),
    _abuse("the clock set back with the job's key", "401", _back_in_time),
    _abuse("the clock set back with the engine's key", "400", _back_in_time_as_engine),
    _abuse("training ended with the job's key", "401", lambda line: line.word(b"{}", path="/ledger/end")),
    _abuse("a model asked with the engine's key", "401", lambda line: line.word(b"{}", key=line.engine_key)),
    _abuse("an account released with the job's key", "401", lambda line: line.word(b"", path="/admin/jobs/job/x/release")),
    # connections
    _abuse("a route that there is not", "404", lambda line: line.word(b"{}", path="/v1/files")),
    _abuse("400 idle connections beside an honest call", "200", _crowd),
    _abuse("a header without end", "400 closed", lambda line: line.raw(line.head() + b"X: ", *[b"y" * 65536] * 8)),
    _abuse("a head that never ends", "closed", _slow_head),
    _abuse("nonsense in place of HTTP", "400 closed", lambda line: line.raw(b"\x16\x03\x01\x02\x00\x01" * 20 + b"\r\n\r\n")),
    _abuse("a call that is fine", "200", lambda line: line.ask(n=2, messages=WIDE_PARTS, top_k=5)),
]  # fmt: skip


def main() -> None:
    """Print what each abuse comes to, against a gateway of its own."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder, open_line(Path(folder)) as line:
        print(f"{'abuse':<48}{'may be':<14}is")
        for abuse in ABUSES:
            print(f"{abuse.name:<48}{' '.join(sorted(abuse.expected)):<14}{abuse.run(line)}")


def open_line(folder: Any) -> Any:
    """Return a context manager with a line to a gateway of its own."""
    from contextlib import contextmanager

    from tracebench_core.specs import Budget, LLMConfig
    from tracebench_gateway.gateway_process import start_gateway
    from tracebench_gateway.models import resolve_models

    @contextmanager
    def opened() -> Any:
        llm = LLMConfig()
        budget = Budget(llm_calls=1000, tokens=10**7, usd=10.0, seconds=3600)
        with start_gateway(llm, mode="stub", run_dir=folder, run_budget=budget, environ={}) as gateway:
            models = resolve_models(llm, mode="stub", environ={})
            access = gateway.register("job", budget=budget, seed=1, models=models)
            host, port = access.base_url.removeprefix("http://").removesuffix("/v1").split(":")
            yield Line(host, int(port), access.keys["agent"]["training"], access.engine_key)
            held = gateway._ask("GET", "/admin/run")["held"]
            if any(held.values()):
                raise AssertionError(f"still set aside: {held}")

    return opened()


if __name__ == "__main__":
    main()
