"""The server that stands in for a provider tells in a stream what a provider tells, and no more than was asked for."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tracebench_testing.fake_openai import FakeOpenAI


def streamed(server: FakeOpenAI, **asked: Any) -> list[dict[str, Any]]:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Add."}], **asked}
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer k"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        lines = [line.removeprefix(b"data: ") for line in answer.read().split(b"\n\n") if line.strip()]
    assert lines[-1].strip() == b"[DONE]"
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_stream_ends_with_the_usage_where_that_is_asked_for(wanted: bool) -> None:
    with FakeOpenAI() as server:
        options = {"stream_options": {"include_usage": True}} if wanted else {}
        *pieces, last = streamed(server, **options)

    assert ("usage" in last) is wanted
    assert not [piece for piece in pieces if "usage" in piece]
    if wanted:
        assert last["usage"]["total_tokens"] == last["usage"]["prompt_tokens"] + last["usage"]["completion_tokens"]
