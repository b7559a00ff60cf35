"""Token counts that are believed, and those that are not; retries that end."""

from __future__ import annotations

import asyncio
import math
import random
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.money import exact, total
from tracebench_core.specs import Budget, ModelIdentity, Price, Usage
from tracebench_gateway.exchange import ChatRequest, ProviderError, Reply, Tokens
from tracebench_gateway.server.metering.admission import TokenBucket
from tracebench_gateway.server.metering.balance import Balance, Demand, Need, need_of
from tracebench_gateway.server.metering.meter import estimate, estimate_prompt, is_credible, measure, most_of
from tracebench_gateway.server.retry import ask_with_retries
from tracebench_runs.prices import PriceTable

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "a" * 40}]


def asking(messages: list[dict[str, Any]], *, is_strict: bool = False, **sampling: Any) -> ChatRequest:
    """Return a request of these messages."""
    identity = ModelIdentity(provider="openai", model="m")
    return ChatRequest("job", 1, "agent", identity, messages, sampling, digest="d", is_strict=is_strict)


@pytest.mark.parametrize(
    ("tokens", "credible"),
    [
        (Tokens(10, 5), True),
        (Tokens(10, 0), True),
        (Tokens(10, 5, 10), True),
        (Tokens(10, 5, 11), False),
        (Tokens(0, 5), False),
        (Tokens(-10, 5), False),
        (Tokens(10, -5), False),
        (Tokens(10**9, 5), False),
        (Tokens(10, 10**9), False),
    ],
)
def test_a_count_is_believed_only_if_it_can_be_true(tokens: Tokens, credible: bool) -> None:
    assert is_credible(tokens, asking(MESSAGES)) is credible


def test_an_estimate_reads_text_parts_too() -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "a" * 40}]}]
    assert estimate(asking(MESSAGES), "b" * 9) == estimate(asking(parts), "b" * 9) == Tokens(14, 3)


def test_a_cap_in_usd_counts_a_prompt_as_if_it_were_written_to_a_cache() -> None:
    price = Price(prompt=1.0, completion=1.0, cached=0.1, written=1.25)
    demand = Demand(calls=1, prompt=1_000_000, limit=10, price=price)
    assert Balance().room(Budget(usd=1.25), demand, beside=True).tokens == 0
    assert Balance().room(Budget(usd=1.24), demand, beside=True).tokens < 0
    assert need_of(demand, 0).usd == exact(1.25)


def test_dimes_add_up() -> None:
    balance = Balance()
    for _ in range(3):
        balance.charge({"status": "ok", "prompt_tokens": 1, "completion_tokens": 0, "cached_tokens": 0, "usd": 0.1})
    assert balance.usage()["usd"] == 0.3
    assert balance.overshoot(Budget(usd=0.3)) == {}
    assert sum([Usage(usd=0.1)] * 3, Usage()).usd == 0.3
    assert PriceTable({"m": Price(prompt=0.1, completion=0.7)}).usd(
        ModelIdentity(provider="x", model="m"), prompt=3, completion=0
    ) == float("3e-7")


@given(st.lists(st.decimals(0, 1000, places=12), max_size=30), st.randoms())
def test_sums_of_money_do_not_depend_on_their_order(amounts: list[Decimal], rng: random.Random) -> None:
    read = [float(amount) for amount in amounts]
    expected = float(sum(amounts))
    assert total(read) == expected
    rng.shuffle(read)
    assert total([total(read[:7]), total(read[7:])]) == expected


def test_a_provider_that_wants_long_peace_is_given_up_at_once() -> None:
    asked = []

    async def attempt() -> Reply:
        asked.append(1)
        raise ProviderError("busy", kind="rate_limited", retry_after=100.0)

    async def main() -> None:
        deadline = time.monotonic() + 50
        answered = await ask_with_retries(
            attempt, max_retries=5, deadline=deadline, may_retry=lambda: True, rng=random.Random(0)
        )
        assert isinstance(answered.result, ProviderError)
        assert answered.retries == 0

    asyncio.run(main())
    assert len(asked) == 1


def test_a_bucket_lets_its_rate_through() -> None:
    async def main() -> float:
        bucket = TokenBucket(6000)
        begun = time.monotonic()
        for _ in range(120):
            await bucket.take()
        return time.monotonic() - begun

    assert asyncio.run(main()) >= 0.19  # 100 a second, of which one second's worth may come at once


def test_calls_under_way_count_as_made() -> None:
    balance = Balance(llm_calls=3, held=Need(2, 0, 0.0))
    one, two = (Demand(calls=calls, prompt=5, limit=None, price=None) for calls in (1, 2))
    assert balance.room(Budget(llm_calls=6), one, beside=True).axis is None
    assert balance.room(Budget(llm_calls=6), two, beside=True).axis == "llm_calls"
    assert balance.room(Budget(llm_calls=6), two, beside=False).axis is None


def test_usd_is_unknown_for_good_once_one_call_had_no_price() -> None:
    balance = Balance()
    call = {"status": "ok", "prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0}
    for usd in (0.5, None, 0.5):
        balance.charge(call | {"usd": usd})
    assert balance.usd is None
    demand = Demand(calls=1, prompt=5, limit=None, price=Price(prompt=1, completion=1))
    assert balance.room(Budget(usd=100.0), demand, beside=False) == (-math.inf, "usd")


@pytest.mark.parametrize(
    ("tokens", "credible"),
    [
        (Tokens(1, 0), True),
        (Tokens(0, 0), False),
        (Tokens(10, 2_000_000), True),
        (Tokens(10, 2_000_001), False),
        (Tokens(10, -1), False),
        (Tokens(10, 5, 6, 4), True),
        (Tokens(10, 5, 6, 5), False),
        (Tokens(10, 5, -1, 5), False),
        (Tokens(10, 5, 5, -1), False),
    ],
)
def test_a_count_is_believed_up_to_its_edge(tokens: Tokens, credible: bool) -> None:
    assert is_credible(tokens, asking(MESSAGES)) is credible


def test_a_prompt_may_hide_fifty_thousand_tokens_beyond_its_bytes() -> None:
    request = asking(MESSAGES)
    most = most_of(request)
    assert 40 < most < 200
    assert is_credible(Tokens(most + 50_000, 0), request)
    assert not is_credible(Tokens(most + 50_001, 0), request)
    assert most_of(replace(request, most=7)) == 7


def test_an_estimate_counts_what_stands_beside_the_text() -> None:
    plain = estimate_prompt([{"role": "user", "content": "a" * 5}], {})
    assert plain == 4 + 2  # four a message, and of the text a token for each four characters that are begun
    assert estimate_prompt([{"role": "user", "content": "a" * 5}] * 2, {"temperature": 1, "stop": ""}) == 2 * plain
    assert estimate_prompt([{"role": "user", "content": "a" * 5, "tokens": [1, 2]}], {}) == plain + 2
    tools = {"tools": [{"name": "f"}]}
    assert estimate_prompt([{"role": "user", "content": "a" * 5}], tools) == plain - (
        -len('{"tools": [{"name": "f"}]}') // 4
    )
    assert estimate_prompt([{"role": "user", "content": "a" * 5, "name": "me"}], {}) == plain - (
        -len('{"name": "me"}') // 4
    )


@pytest.mark.parametrize(
    ("reported", "total", "tokens"),
    [
        (Tokens(12, 3), None, Tokens(12, 3)),
        (None, None, Tokens(14, 1)),
        (None, 30, Tokens(29, 1)),  # a total is split
        (None, 0, Tokens(14, 1)),
        (None, 10**9, Tokens(0, 1)),  # no prompt has so many: as many as its bytes
        (Tokens(0, 9), None, Tokens(14, 9)),  # the larger of guess and count
        (Tokens(10**9, 0), None, Tokens(0, 1)),
        (Tokens(10, 10**9), None, Tokens(14, 2_000_000)),
    ],
)
def test_what_is_not_believed_is_estimated_and_marked(
    reported: Tokens | None, total: int | None, tokens: Tokens
) -> None:
    request = asking(MESSAGES)
    reply = Reply({"role": "assistant", "content": "abcd"}, "stop", reported, total=total)
    metered = measure(request, reply, prices=PriceTable({}))
    if not tokens.prompt:
        tokens = replace(tokens, prompt=most_of(request))
    assert (metered.tokens, metered.estimated) == (tokens, reported != tokens)
    assert measure(request, replace(reply, metered=metered), prices=PriceTable({})) is metered
