"""A provider that fails in every way: typed errors, the right number of attempts, usage that can be trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest
from tests.llm.conftest import KEY, Open, say
from tests.whole import one_in

from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget, LLMConfig, ModelIdentity
from tracebench_gateway.client import GatewayClient
from tracebench_gateway.gateway_process import GatewayHandle, start_gateway
from tracebench_gateway.models import ROLES
from tracebench_testing.fake_openai import FakeOpenAI, Fault

RETRIES = 2


class Desk(NamedTuple):
    """One gateway and one provider, for many jobs."""

    server: FakeOpenAI
    gateway: GatewayHandle
    jobs: Iterator[int]
    provider: str

    def client(self, *faults: Fault | None) -> GatewayClient:
        """Return a new job's client; the provider fails as told from now on."""
        self.server.fail_next(*faults)
        identity = ModelIdentity(provider=self.provider, model="fake", base_url=self.server.base_url)
        models = dict.fromkeys(ROLES, identity)
        return GatewayClient(self.gateway.register(f"job{next(self.jobs)}", budget=Budget(), seed=1, models=models))


@pytest.fixture(scope="module", params=one_in(2, ["openai", "custom_openai"]), ids=["direct", "litellm"])
def desk(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Run one gateway for each way to ask: importing litellm takes seconds."""
    with FakeOpenAI(error_text=f"the key {KEY} may not do that") as server:
        llm = LLMConfig(
            provider=request.param, model="fake", base_url=server.base_url, api_key_env="MY_KEY", max_retries=RETRIES
        )
        run_dir = tmp_path_factory.mktemp("run")
        environ = {"MY_KEY": KEY}
        with start_gateway(llm, mode="real", run_dir=run_dir, run_budget=Budget(), environ=environ) as gateway:
            yield Desk(server, gateway, count(), request.param)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("401", "auth"), ("400", "request"), ("html", "malformed"), ("truncated", "malformed")],
)
def test_what_asking_again_will_not_mend_is_asked_once(desk: Desk, fault: Fault, kind: str) -> None:
    client = desk.client(fault)
    with pytest.raises(ModelError) as failure:
        client.complete(say("hi"), role="agent")
    record = client.records()[0]
    assert len(desk.server.log.requests) == 1
    assert failure.value.kind == kind
    is_served = fault == "truncated"  # a part of a model's answer came: its provider charges for it
    assert (record.status, record.retries, record.usd) == ("error", 0, None if is_served else 0.0)
    assert record.error.startswith(kind)
    assert client.used().llm_calls == is_served
    assert (record.prompt_tokens > 0) is record.estimated is is_served
    client.close()


@pytest.mark.parametrize("fault", ["429", "429-retry-after", "500", "drop"])
def test_passing_trouble_is_retried_and_counted(desk: Desk, fault: Fault) -> None:
    client = desk.client(fault, fault)
    assert client.complete(say("hi"), role="agent")[0].text == "echo: hi"
    record = client.records()[0]
    assert len(desk.server.log.requests) == 3
    assert (record.status, record.retries) == ("ok", 2)
    assert client.used().retries == 2
    client.close()


@pytest.mark.parametrize(("fault", "kind"), [("429", "rate_limited"), ("500", "server"), ("drop", "refused")])
def test_lasting_trouble_ends_after_the_configured_retries(desk: Desk, fault: Fault, kind: str) -> None:
    client = desk.client(*[fault] * 10)
    with pytest.raises(ModelError) as failure:
        client.complete(say("hi"), role="agent")
    assert failure.value.kind == kind
    assert len(desk.server.log.requests) == 1 + RETRIES
    client.close()


def test_a_server_that_hangs_costs_one_timeout_an_attempt(open_door: Open) -> None:
    with FakeOpenAI(script=["hang"]) as server:
        door = open_door(mode="real", base_url=server.base_url, timeout=0.5, max_retries=0)
        with pytest.raises(ModelError) as failure:
            door.client.complete(say("hi"), role="agent")
    assert failure.value.kind == "timeout"


def test_a_server_that_is_not_there_is_refused(open_door: Open) -> None:
    with FakeOpenAI() as server:
        gone = server.base_url
    door = open_door(mode="real", base_url=gone, max_retries=0)
    with pytest.raises(ModelError) as failure:
        door.client.complete(say("hi"), role="agent")
    assert failure.value.kind == "refused"


def test_reported_usage_is_taken_as_it_is(desk: Desk) -> None:
    client = desk.client()
    client.complete(say("one two three"), role="judge")
    record, served = client.records()[0], desk.server.log.served[0]
    assert (record.prompt_tokens, record.completion_tokens) == (served.prompt_tokens, served.completion_tokens)
    assert not record.estimated
    client.close()


STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
LIMIT_ROOM = len(',"max_tokens":2147483648')
"""What the name and the digits of a limit may add to a body."""


@pytest.mark.parametrize("fault", ["no-usage", "negative-usage", "absurd-usage"])
@pytest.mark.parametrize("stream", [False, True])
def test_usage_that_cannot_be_true_is_estimated_and_marked(desk: Desk, fault: Fault, stream: bool) -> None:
    import openai

    client = desk.client(fault)
    endpoint = client.endpoint("agent")
    with openai.OpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key.get_secret_value()) as sdk:
        answer = sdk.chat.completions.create(model="fake", messages=say("one two three"), stream=stream)
        if stream:
            list(answer)
    record = client.records()[0]
    assert record.estimated
    body = {"model": "fake", "messages": say("one two three")} | (STREAMED if stream else {})
    allowed = len(json.dumps(body, separators=(",", ":")))
    prompt = allowed if fault == "absurd-usage" else 4 + 4
    assert (record.completion_tokens, record.prompt_tokens - prompt) in [(5, 0), (5, LIMIT_ROOM)]
    client.close()


def test_a_providers_error_text_comes_without_the_key(desk: Desk) -> None:
    client = desk.client("400")
    with pytest.raises(ModelError) as failure:
        client.complete(say("hi"), role="agent")
    assert desk.server.log.keys == {KEY}
    assert "[redacted]" in str(failure.value)
    assert KEY not in str(failure.value)
    assert KEY not in client.records()[0].error
    client.close()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"messages": []}, "messages"),
        ({"messages": say("hi"), "model": "gpt-9"}, "not `gpt-9`"),
        ({"messages": say("hi"), "api_base": "http://elsewhere.example"}, "api_base"),
        ({"messages": say("hi"), "n": 0.5}, "`n`"),
    ],
)
def test_a_bad_request_is_named_and_asks_nobody(open_door: Open, request_: dict[str, object], words: str) -> None:
    door = open_door()
    with pytest.raises(ModelError, match=words) as failure:
        door.client.complete(role="agent", **request_)
    assert failure.value.kind == "request"
    assert door.client.records() == []
