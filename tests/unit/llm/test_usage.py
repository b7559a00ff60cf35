"""The shapes in which servers of OpenAI's API say what they used, each with what it stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tracebench_core.errors import ModelError
from tracebench_core.specs import ModelIdentity, Price
from tracebench_gateway.exchange import ChatRequest, Reply, Tokens
from tracebench_gateway.server.metering.meter import measure
from tracebench_gateway.server.providers.bodies import reply_of
from tracebench_gateway.server.providers.usage import read_usage
from tracebench_runs.prices import PriceTable

SHAPES: list[tuple[str, dict[str, Any], Tokens | int | None]] = [
    ("OpenAI", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
      "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
      "completion_tokens_details": {"reasoning_tokens": 15, "accepted_prediction_tokens": 0}}, Tokens(100, 20, 64, 0, 15)),
    ("OpenAI, Responses", {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "input_tokens_details": {"cached_tokens": 64},
      "output_tokens_details": {"reasoning_tokens": 15}}, Tokens(100, 20, 64, 0, 15)),
    ("vLLM, details null", {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": None}, Tokens(100, 20)),
    ("OpenRouter, cache written", {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.01,
      "prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 50}}, Tokens(100, 20, 10, 50)),
    ("DeepSeek", {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 64,
      "prompt_cache_miss_tokens": 36}, Tokens(100, 20, 64)),
    ("Moonshot, cached at the top", {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 64}, Tokens(100, 20, 64)),
    ("xAI, thoughts beside the completion", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 150,
      "completion_tokens_details": {"reasoning_tokens": 30}}, Tokens(100, 50, 0, 0, 30)),
    ("Gemini, thoughts in the total alone", {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 150}, Tokens(100, 50)),
    ("Gemini, thoughts and no words", {"prompt_tokens": 100, "total_tokens": 150}, Tokens(100, 50)),
    ("Anthropic behind a proxy", {"input_tokens": 30, "output_tokens": 20, "cache_read_input_tokens": 60,
      "cache_creation_input_tokens": 10},
      Tokens(100, 20, 60, 10)),
    ("floats", {"prompt_tokens": 100.0, "completion_tokens": 20.0}, Tokens(100, 20)),
    ("numbers as texts", {"prompt_tokens": "100", "completion_tokens": "20", "total_tokens": "120"}, Tokens(100, 20)),
    ("a total and a completion", {"completion_tokens": 20, "total_tokens": 120}, Tokens(100, 20)),
    ("a total alone", {"total_tokens": 120}, 120),
    ("service tier and nulls", {"prompt_tokens": 100, "completion_tokens": 20, "service_tier": "flex", "cost": None}, Tokens(100, 20)),
    ("an embedding", {"prompt_tokens": 8, "total_tokens": 8}, Tokens(8, 0)),
    ("zeros", {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
    ("words", {"prompt_tokens": "many", "completion_tokens": True}, None),
    ("not a number", {"prompt_tokens": "nan", "completion_tokens": "inf"}, None),
    ("negative", {"prompt_tokens": -5, "completion_tokens": -1}, Tokens(-5, -1)),
    ("nothing", {}, None),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "tokens"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
def test_a_count_is_read_whatever_its_shape(usage: dict[str, Any], tokens: Tokens | int | None) -> None:
    assert read_usage({"usage": usage}) == tokens


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": [{"usage": {"prompt_tokens": 7, "completion_tokens": 2}}]},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    ],
    ids=["beside the first choice", "under x_groq", "without choices"],
)
def test_a_count_is_found_where_servers_put_it(answer: dict[str, Any]) -> None:
    assert read_usage(answer) == Tokens(7, 2)


@pytest.mark.parametrize("usage", [None, 5, [], "many"])
def test_a_usage_that_is_none_is_none(usage: Any) -> None:
    assert read_usage({"usage": usage}) is None


def test_an_answer_without_choices_is_an_error_that_says_what_it_cost() -> None:
    body = json.dumps({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 9}}).encode()
    with pytest.raises(ModelError) as failure:
        reply_of(body, "chat")
    assert failure.value.kind == "malformed"
    assert failure.value.reported == Tokens(50, 9)  # type: ignore[attr-defined]  # a ProviderError


def request() -> ChatRequest:
    """Return a request of 14 tokens by our estimate."""
    identity = ModelIdentity(provider="openai", model="m")
    messages = [{"role": "user", "content": "a" * 40}]
    return ChatRequest("job", 1, "agent", identity, messages, {}, digest="d")


def test_a_total_is_kept_and_only_its_split_is_estimated() -> None:
    metered = measure(request(), Reply({"content": "b" * 16}, "stop", total=30), prices=PriceTable({}))
    assert metered.tokens == Tokens(26, 4)
    assert metered.estimated


def test_what_is_read_from_and_written_to_a_cache_has_prices_of_its_own() -> None:
    prices = PriceTable({"m": Price(prompt=1.0, completion=4.0, cached=0.1, written=1.25)})
    reply = Reply({"content": "x"}, "stop", reported=Tokens(100, 10, cached=60, written=30))
    assert measure(request(), reply, prices=prices).usd == pytest.approx((10 + 6 + 37.5 + 40) / 1e6)
