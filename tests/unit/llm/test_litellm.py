"""How litellm is asked, and what its answers are read as: a library of the test's own in its place, which keeps what it was asked."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.llm.test_asking import request

from tracebench_core.specs import LLMConfig, ModelIdentity
from tracebench_gateway.exchange import ProviderError, Reply, Tokens
from tracebench_gateway.server.providers.litellm import LEAST_OF_RESPONSES, LiteLLMProvider
from tracebench_runs.prices import bundled_map


class Said(dict[str, Any]):
    """An object of a library that tells itself as a dictionary, what is None left out or not."""

    def model_dump(self, *, exclude_none: bool = False) -> dict[str, Any]:
        return {name: value for name, value in self.items() if not (exclude_none and value is None)}


def chunk(usage: Any = None, finish_reason: str | None = None, **delta: Any) -> Any:
    choices = [SimpleNamespace(delta=Said(delta), finish_reason=finish_reason)] if delta or finish_reason else []
    return SimpleNamespace(choices=choices, usage=usage)


class Stream:
    """A streamed answer: what is handed on, and what had come raw."""

    def __init__(self, chunks: list[Any], raw: list[Any] | None = None) -> None:
        self._given, self.chunks = chunks, chunks if raw is None else raw

    async def __aiter__(self) -> AsyncIterator[Any]:
        for one in self._given:
            yield one


class Library:
    """Answers as it is told."""

    suppress_debug_info = False
    telemetry = True

    def __init__(self) -> None:
        self.answer: Any = answered(content="yes")
        self.asked: list[dict[str, Any]] = []
        self.taken: list[str] | None = None
        self.told: list[tuple[str, str]] = []

    async def acompletion(self, **given: Any) -> Any:
        self.asked.append(given)
        if isinstance(self.answer, Exception):
            raise self.answer
        return await self.answer() if callable(self.answer) else self.answer

    def get_supported_openai_params(self, *, model: str, custom_llm_provider: str) -> list[str] | None:
        self.told.append((model, custom_llm_provider))
        return self.taken


def answered(usage: Any = None, finish_reason: str | None = "stop", **message: Any) -> Any:
    return SimpleNamespace(choices=[SimpleNamespace(message=Said(message), finish_reason=finish_reason)], usage=usage)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    bundled_map()  # what its package lists is read once, before this stands in its place
    monkeypatch.setitem(sys.modules, "litellm", made)  # type: ignore[arg-type]  # it stands in for a module
    return made


def ask(
    provider: str = "anthropic", *, config: dict[str, Any] | None = None, streams: Any = None, **more: Any
) -> Reply:
    llm = LLMConfig.model_validate(config or {})
    made = LiteLLMProvider(
        llm, variants={"v": LLMConfig(region="there")}, environ={"ANTHROPIC_API_KEY": "sk-a", "SECRET": "s"}
    )
    return asyncio.run(made.ask(request(provider, **more), on_delta=streams))


def failure(*given: Any, **more: Any) -> tuple[str, str]:
    with pytest.raises(ProviderError) as caught:
        ask(*given, **more)
    return str(caught.value), caught.value.kind


def test_it_is_asked_once_with_the_key_and_for_no_longer_than_the_config_says(library: Library) -> None:
    sampling = {"temperature": 0.5, "max_tokens": 9}
    reply = ask(config={"timeout": 7, "extra_headers": {"X-A": "SECRET"}}, sampling=sampling, limit=5)
    assert reply == Reply({"role": "assistant", "content": "yes"}, "stop")
    assert library.asked == [
        {
            "model": "anthropic/m", "messages": [{"role": "user", "content": "hi"}], "base_url": None, "api_key": "sk-a", "num_retries": 0,
            "max_retries": 0, "timeout": 7.0, "drop_params": True, "extra_headers": {"X-A": "s"}, "temperature": 0.5, "max_tokens": 5,
        }
    ]  # fmt: skip
    assert (library.suppress_debug_info, library.telemetry) == (True, False)


@pytest.mark.parametrize(
    ("provider", "variant", "reach"),
    [
        ("bedrock", "", {"aws_region_name": "here", "project_id": "p", "api_version": "1"}),
        ("vertex_ai", "", {"vertex_location": "here", "vertex_project": "p", "api_version": "1"}),
        ("vertex_ai_beta", "", {"vertex_location": "here", "vertex_project": "p", "api_version": "1"}),
        ("oci", "", {"oci_region": "here", "project_id": "p", "api_version": "1"}),
        ("bedrock", "v", {"aws_region_name": "there"}),
    ],
)
def test_where_a_provider_is_reached_has_the_names_that_litellm_knows(
    library: Library, provider: str, variant: str, reach: dict[str, str]
) -> None:
    ask(provider, config={"region": "here", "project": "p", "api_version": "1"}, variant=variant)
    names = {
        "api_version",
        "project_id",
        "vertex_project",
        "extra_headers",
        *(n for n in library.asked[0] if "region" in n or "locat" in n),
    }
    assert {name: value for name, value in library.asked[0].items() if name in names} == reach


@pytest.mark.parametrize(
    ("model", "taken", "left_out"),
    [
        ("m", None, ()), ("m", [], ()), ("m", ["temperature", "seed", "stop"], ()), ("m", ["seed"], ("stop", "temperature")),
        ("responses/m", ["temperature", "seed", "stop"], ("seed", "stop")), ("responses/m", None, ()),
    ],
)  # fmt: skip
def test_what_a_model_does_not_take_is_told(
    library: Library, model: str, taken: list[str] | None, left_out: tuple[str, ...]
) -> None:
    library.taken = taken
    identity = ModelIdentity(provider="openai", model=model)
    made = LiteLLMProvider(LLMConfig(), variants={}, environ={})
    asked = request(sampling={"temperature": 0.5, "seed": 1, "stop": ["x"], "extra_body": {"a": 1}})

    reply = asyncio.run(made.ask(dataclasses.replace(asked, identity=identity)))
    assert reply.left_out == left_out
    assert library.told == [("m", "openai")]


@pytest.mark.parametrize(
    ("model", "limit", "is_refused"),
    [
        ("responses/m", LEAST_OF_RESPONSES - 1, True), ("responses/m", LEAST_OF_RESPONSES, False), ("responses/m", None, False),
        ("m", 1, False),
    ],
)  # fmt: skip
def test_a_limit_that_would_be_sent_as_a_larger_one_is_refused(
    library: Library, model: str, limit: int | None, is_refused: bool
) -> None:

    asked = dataclasses.replace(request(limit=limit), identity=ModelIdentity(provider="openai", model=model))
    asking = LiteLLMProvider(LLMConfig(), variants={}, environ={}).ask(asked)
    if not is_refused:
        asyncio.run(asking)
        return
    with pytest.raises(
        ProviderError, match="the responses API takes no limit below 16 tokens; `15` are asked for, or left by a cap"
    ):
        asyncio.run(asking)
    assert library.asked == []


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (answered(content=None, finish_reason=None), Reply({"role": "assistant", "content": ""}, "stop")),
        (answered(content="a", role="assistant", finish_reason="length", usage=Said(prompt_tokens=3, completion_tokens=2)),
         Reply({"role": "assistant", "content": "a"}, "length", Tokens(3, 2))),
        (answered(content="a", usage=Said(prompt_tokens=0, completion_tokens=0)), Reply({"role": "assistant", "content": "a"}, "stop")),
        (answered(content="a", usage=Said(total_tokens=9)), Reply({"role": "assistant", "content": "a"}, "stop", total=9)),
        (answered(content="a", provider_specific_fields={}, refusal="no"),
         Reply({"role": "assistant", "content": "a", "refusal": "no"}, "stop")),
    ],
)  # fmt: skip
def test_an_answer_is_read_with_what_the_provider_counted(library: Library, answer: Any, reply: Reply) -> None:
    library.answer = answer
    assert ask() == reply


@pytest.mark.parametrize("answer", [SimpleNamespace(choices=[]), SimpleNamespace(choices=None), object()])
def test_an_answer_without_choices_is_none(library: Library, answer: Any) -> None:
    library.answer = answer
    assert failure() == ("the answer holds no choices", "malformed")


COUNTED = Said(prompt_tokens=3, completion_tokens=2)


@pytest.mark.parametrize(
    ("stream", "reply", "pieces"),
    [
        (Stream([chunk(role="assistant", content="a"), chunk(content="b"), chunk(finish_reason="length"), chunk(usage=COUNTED)]),
         Reply({"role": "assistant", "content": "ab"}, "length", Tokens(3, 2)), [{"role": "assistant", "content": "a"}, {"content": "b"}]),
        (Stream([chunk(content="a", usage=Said(prompt_tokens=9))], raw=[chunk(content="a")]),
         Reply({"role": "assistant", "content": "a"}, "stop"), [{"content": "a"}]),
        (Stream([chunk(content=None, tool_calls=None, finish_reason="stop", usage=COUNTED)]),
         Reply({"role": "assistant", "content": ""}, "stop", Tokens(3, 2)), []),
    ],
    ids=["whole", "counted by litellm alone", "empty"],
)  # fmt: skip
def test_a_stream_is_passed_on_and_counted_by_what_was_really_sent(
    library: Library, stream: Stream, reply: Reply, pieces: list[Any]
) -> None:
    library.answer = stream
    told: list[Any] = []

    async def take(delta: dict[str, Any]) -> None:
        told.append(delta)

    assert ask(streams=take) == reply
    assert told == pieces
    assert library.asked[0]["stream"] is True
    assert library.asked[0]["stream_options"] == {"include_usage": True}


def test_a_body_that_is_no_stream_is_no_empty_answer(library: Library) -> None:
    library.answer = Stream([chunk(finish_reason="stop")])

    async def take(delta: dict[str, Any]) -> None: ...

    assert failure(streams=take) == ("the answer is no stream of completions", "malformed")


def test_what_goes_wrong_says_where_and_of_which_kind(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.answer = type("RateLimitError", (Exception,), {"status_code": 429})("slow down")
    assert failure() == ("RateLimitError: slow down", "rate_limited")
    assert failure(base_url="http://h/v1") == ("at `http://h/v1`: RateLimitError: slow down", "rate_limited")

    async def stay() -> None:
        await asyncio.Event().wait()

    library.answer = stay
    assert failure(config={"timeout": 0.01}) == ("no answer within 0.01 s", "timeout")
    monkeypatch.setitem(sys.modules, "litellm", None)
    words, kind = failure()
    assert words.startswith("litellm cannot be imported: ")
    assert (kind, "install" in words) == ("auth", True)
