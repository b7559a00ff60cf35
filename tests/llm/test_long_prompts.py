"""Long prompts on every wire, however their bytes arrive: answered, or the provider would have been paid for nothing."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.llm.conftest import Door, say
from tests.llm.tap import Tap, check_answered
from tests.whole import cells

from tracebench_core.specs import Budget, LLMConfig
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.gateway_process import start_gateway
from tracebench_gateway.models import resolve_models
from tracebench_gateway.server.metering.ledger import read_ledger

MIB = 1 << 20
SIZES = {"64 KiB - 1": 65_535, "64 KiB": 65_536, "64 KiB + 1": 65_537, "1 MB": MIB, "8 MB": 8 * MIB, "31 MB": 31 * MIB}
WAYS = ("whole", "in chunks", "in two sends")
WIRES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": say("{}")},
    "/v1/responses": {"input": "{}"},
    "/v1/messages": {"messages": say("{}"), "max_tokens": 8},
    "/v1/completions": {"prompt": "{}"},
    "/v1/embeddings": {"input": "{}"},
    "/v1beta/models/stub:generateContent": {"contents": [{"parts": [{"text": "{}"}]}]},
}
SQUARE = [(size, path, WAYS[(n + m) % 3]) for n, size in enumerate(SIZES) for m, path in enumerate(WIRES)]
"""Every size on every wire, in ways that take turns. One of the largest takes seconds of a processor: most are for the soak."""


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Run one gateway, with the stub that proposes nothing."""
    run_dir: Path = tmp_path_factory.mktemp("run")
    llm = LLMConfig(stub="empty")
    with (
        start_gateway(llm, mode="stub", run_dir=run_dir, run_budget=Budget(), environ={}) as gateway,
        Tap(gateway.base_url) as tap,
    ):
        access = gateway.register("job", budget=Budget(), seed=1, models=resolve_models(llm, mode="stub", environ={}))
        yield Door(gateway, GatewayClient(access.model_copy(update={"base_url": tap.base_url})), run_dir, tap)
        check_answered(tap, read_ledger(run_dir / "llm/ledger.jsonl"))


def send(door: Door, path: str, size: int, way: str) -> http.client.HTTPResponse:
    """Send one prompt; returns the answer, read."""
    shape, mark = json.dumps(WIRES[path]).encode(), b"{}"
    text = (b"lorem ipsum " * (size // 12 + 1))[: size - len(shape) + len(mark)]
    body = shape.replace(mark, text, 1)
    assert len(body) == size
    endpoint = door.client.endpoint("agent")
    where = urlsplit(endpoint.base_url)
    key = endpoint.api_key.get_secret_value()
    length = "Transfer-Encoding: chunked" if way == "in chunks" else f"Content-Length: {size}"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{length}\r\n\r\n".encode()
    with socket.create_connection((where.hostname, where.port), timeout=120) as line:
        if way == "whole":
            line.sendall(head + body)
        elif way == "in two sends":
            line.sendall(head)
            time.sleep(0.02)
            line.sendall(body)
        else:
            pieces = [body[at : at + 60_000] for at in range(0, size, 60_000)]
            line.sendall(head + b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n")
        answer = http.client.HTTPResponse(line)
        answer.begin()
        answer.read()
        return answer


@pytest.mark.parametrize(
    ("size", "path", "way"),
    cells(
        product(SIZES, WIRES, WAYS),
        always=[
            *product(("64 KiB - 1", "64 KiB", "64 KiB + 1"), WIRES, ["whole"]),
            *product(["1 MB"], WIRES, ["in two sends"]),
            *product(["1 MB"], ["/v1/chat/completions", "/v1/messages"], ["in chunks"]),
            ("8 MB", "/v1/responses", "whole"),
        ],
        often=[cell for cell in SQUARE if cell[0] != "31 MB" or cell[1] in {"/v1/chat/completions", "/v1/messages"}],
    ),
)
def test_a_long_prompt_is_answered(door: Door, size: str, path: str, way: str) -> None:
    assert send(door, path, SIZES[size], way).status == 200


@pytest.mark.parametrize("extra", [0, 1])
def test_a_head_may_have_64_kib_and_no_more(door: Door, extra: int) -> None:
    endpoint = door.client.endpoint("agent")
    where = urlsplit(endpoint.base_url)
    head = f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {endpoint.api_key.get_secret_value()}\r\nX: "
    filled = head.encode() + b"y" * (65_536 + extra - len(head) - 4) + b"\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), timeout=60) as line:
        line.sendall(filled)
        answer = http.client.HTTPResponse(line)
        answer.begin()
    assert answer.status == (400 if extra else 200)
