"""Clients that know nothing of us: the OpenAI SDK, litellm and bare HTTP meet the same caps and the same ledger."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from tests.llm.conftest import Open, say
from tests.whole import HEAVY

from tracebench_core.specs import Budget, Endpoint
from tracebench_testing.fake_openai import FakeOpenAI

if TYPE_CHECKING:
    import openai


def sdk_for(endpoint: Endpoint) -> openai.OpenAI:
    """Return the SDK with its own habits, retries included."""
    import openai

    return openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key.get_secret_value())


def test_openai_sdk_asks_streams_and_is_metered(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url)
        endpoint = door.client.endpoint("optimizer")
        with sdk_for(endpoint) as sdk:
            whole = sdk.chat.completions.create(model=endpoint.model, messages=say("hello there"))
            with sdk.chat.completions.create(
                model=endpoint.model, messages=say("hello there"), stream=True, stream_options={"include_usage": True}
            ) as stream:
                chunks = list(stream)
            assert [model.id for model in sdk.models.list()] == ["fake"]
        served = server.log.served
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert whole.choices[0].message.content == text == "echo: hello there"
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert whole.usage.total_tokens == chunks[-1].usage.total_tokens
    records = door.client.records()
    assert [(r.prompt_tokens, r.completion_tokens) for r in records] == [
        (s.prompt_tokens, s.completion_tokens) for s in served
    ]
    assert not any(record.estimated for record in records)


def test_openai_sdk_does_not_repeat_a_refusal_or_a_failure(open_door: Open) -> None:
    import openai

    with FakeOpenAI(rates={"500": 1.0}) as server:
        door = open_door(mode="real", base_url=server.base_url, max_retries=0)
        endpoint = door.client.endpoint("agent")
        with sdk_for(endpoint) as sdk, pytest.raises(openai.APIStatusError):
            sdk.chat.completions.create(model=endpoint.model, messages=say("hi"))
        assert len(server.log.requests) == 1


def test_a_spent_budget_is_402_insufficient_quota(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=1))
    endpoint = door.client.endpoint("agent")
    body = json.dumps({"messages": say("hi")}).encode()
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"}
    request = urllib.request.Request(f"{endpoint.base_url}/chat/completions", data=body, headers=headers)
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["choices"][0]["message"]["role"] == "assistant"
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(request)
    with refusal.value as answer:
        error = json.load(answer)["error"]
    assert refusal.value.code == 402
    assert (error["type"], error["code"]) == ("insufficient_quota", "insufficient_quota")
    assert error["tracebench"] == {"axis": "llm_calls", "scope": "job"}


def test_a_stream_that_breaks_is_an_error_with_an_estimate_of_what_was_sent(open_door: Open) -> None:
    import openai

    with FakeOpenAI(script=["broken-stream"]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        endpoint = door.client.endpoint("agent")
        with (
            openai.OpenAI(
                base_url=endpoint.base_url, api_key=endpoint.api_key.get_secret_value(), max_retries=0
            ) as sdk,
            sdk.chat.completions.create(
                model=endpoint.model, messages=say("a b c d e f g h i j"), stream=True
            ) as stream,
            pytest.raises(openai.APIError),
        ):
            list(stream)
        assert len(server.log.requests) == 1
    record = door.client.records()[0]
    assert record.status == "error"
    assert record.estimated
    assert record.completion_tokens > 0


def test_a_stream_that_never_starts_is_retried_like_any_call(open_door: Open) -> None:
    with FakeOpenAI(script=["500", None]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        endpoint = door.client.endpoint("agent")
        with (
            sdk_for(endpoint) as sdk,
            sdk.chat.completions.create(model=endpoint.model, messages=say("hi"), stream=True) as stream,
        ):
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == "echo: hi"
    assert door.client.records()[0].retries == 1


LITELLM_LOOP = """
import os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
litellm.suppress_debug_info = True
base, key = sys.argv[1:]
made = 0
try:
    for number in range(10):
        litellm.completion(model="openai/stub", base_url=base, api_key=key,
                           messages=[{"role": "user", "content": str(number)}])
        made += 1
except Exception as error:
    print(made, "insufficient_quota" in str(error) or "budget reached" in str(error))
"""


@HEAVY
def test_a_litellm_loop_in_another_process_stops_at_the_cap(open_door: Open) -> None:
    door = open_door(budget=Budget(llm_calls=3))
    endpoint = door.client.endpoint("optimizer")
    argv = [sys.executable, "-c", LITELLM_LOOP, endpoint.base_url, endpoint.api_key.get_secret_value()]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["3", "True"]
    assert door.client.used().llm_calls == 3
    assert door.client.used().refused == 1
