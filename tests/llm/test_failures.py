"""A provider that fails in every way: typed errors, the right number of attempts, usage that can be trusted."""

from __future__ import annotations

import pytest
from tests.llm.conftest import KEY, Open, say

from tracebench_core.errors import ModelError
from tracebench_core.testing.fake_openai import FakeOpenAI, Fault


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("401", "auth"), ("400", "request"), ("html", "malformed"), ("truncated", "malformed"), ("empty", "malformed")],
)
def test_what_asking_again_will_not_mend_is_asked_once(open_door: Open, fault: Fault, kind: str) -> None:
    with FakeOpenAI(script=[fault]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        with pytest.raises(ModelError) as failure:
            door.client.complete(say("hi"), role="agent")
        assert len(server.log.requests) == 1
    record = door.client.records()[0]
    assert failure.value.kind == kind
    assert (record.status, record.retries, record.usd) == ("error", 0, 0.0)
    assert record.error.startswith(kind)
    assert door.client.used().llm_calls == 0


@pytest.mark.parametrize("fault", ["429", "429-retry-after", "500", "drop"])
def test_passing_trouble_is_retried_and_counted(open_door: Open, fault: Fault) -> None:
    with FakeOpenAI(script=[fault, fault, None]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        assert door.client.complete(say("hi"), role="agent")[0].text == "echo: hi"
        assert len(server.log.requests) == 3
    record = door.client.records()[0]
    assert (record.status, record.retries) == ("ok", 2)
    assert door.client.used().retries == 2


@pytest.mark.parametrize(("fault", "kind"), [("429", "rate_limited"), ("500", "server"), ("drop", "refused")])
def test_lasting_trouble_ends_after_the_configured_retries(open_door: Open, fault: Fault, kind: str) -> None:
    with FakeOpenAI(rates={fault: 1.0}) as server:
        door = open_door(mode="real", base_url=server.base_url, max_retries=1)
        with pytest.raises(ModelError) as failure:
            door.client.complete(say("hi"), role="agent")
        assert failure.value.kind == kind
        assert len(server.log.requests) == 2


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


def test_reported_usage_is_taken_as_it_is(open_door: Open) -> None:
    with FakeOpenAI() as server:
        door = open_door(mode="real", base_url=server.base_url)
        door.client.complete(say("one two three"), role="judge")
        served = server.log.served[0]
    record = door.client.records()[0]
    assert (record.prompt_tokens, record.completion_tokens) == (served.prompt_tokens, served.completion_tokens)
    assert not record.estimated


@pytest.mark.parametrize("fault", ["no-usage", "negative-usage", "absurd-usage"])
def test_usage_that_cannot_be_true_is_estimated_and_marked(open_door: Open, fault: Fault) -> None:
    with FakeOpenAI(script=[fault]) as server:
        door = open_door(mode="real", base_url=server.base_url)
        door.client.complete(say("one two three"), role="agent")
    record = door.client.records()[0]
    assert record.estimated
    assert (record.prompt_tokens, record.completion_tokens) == (4 + 4, 5)


def test_a_providers_error_text_comes_without_the_key(open_door: Open) -> None:
    with FakeOpenAI(script=["400"], error_text=f"the key {KEY} may not do that") as server:
        door = open_door(mode="real", base_url=server.base_url)
        with pytest.raises(ModelError) as failure:
            door.client.complete(say("hi"), role="agent")
        assert server.log.keys == {KEY}
    assert "[redacted]" in str(failure.value)
    assert KEY not in str(failure.value)
    assert KEY not in door.client.records()[0].error


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
        door.client._ask("POST", "/v1/chat/completions", key=door.client._any_key(), body=request_)
    assert failure.value.kind == "request"
    assert door.client.records() == []
