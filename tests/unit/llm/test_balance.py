"""How much room a cap leaves for a request, by hand: a price, a prompt, and what is spent."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from tracebench_core.specs import Axis, Budget, Price
from tracebench_gateway.server.metering.balance import Balance, Demand, dearest_prompt, need_of

PLAIN = Price(prompt=1.0, completion=4.0)


def demand(price: Price, *, prompt: int = 1_000_000, calls: int = 1, limit: int | None = None) -> Demand:
    return Demand(calls=calls, prompt=prompt, limit=limit, price=price)


def room(usd: float, price: Price, *, spent: str = "0", **more: int) -> tuple[float, str | None]:
    return Balance(usd=Decimal(spent)).room(Budget(usd=usd), demand(price, **more), beside=True)


@pytest.mark.parametrize(
    ("price", "dearest"),
    [
        (PLAIN, 1.0),
        (PLAIN.model_copy(update={"cached": 0.1}), 1.0),
        (PLAIN.model_copy(update={"cached": 0.1, "written": 1.25}), 1.25),
        (PLAIN.model_copy(update={"written": 0.5}), 1.0),
        (PLAIN.model_copy(update={"cached": 2.0}), 2.0),
    ],
)
def test_a_prompt_may_be_billed_as_what_is_dearest_of_plain_cached_and_written(price: Price, dearest: float) -> None:
    assert dearest_prompt(price) == Decimal(str(dearest))
    assert need_of(demand(price), 250_000).usd == Decimal(str(dearest)) + 1
    assert room(dearest + 1, price) == (250_000, "usd")


def test_several_answers_share_what_is_left() -> None:
    assert room(3.0, PLAIN, calls=2) == (250_000, "usd")


def test_a_prompt_that_alone_costs_more_leaves_less_than_nothing() -> None:
    assert room(0.5, PLAIN)[0] < 0


FREE = Price(prompt=0.0, completion=0.0)


@pytest.mark.parametrize(("spent", "tokens"), [("0.999", math.inf), ("1", -math.inf), ("1.5", -math.inf)])
def test_once_a_cap_is_reached_not_even_a_free_model_is_asked(spent: str, tokens: float) -> None:
    found = room(1.0, FREE, spent=spent)
    assert found[0] == tokens
    assert found[1] == (None if tokens > 0 else "usd")


def test_an_answer_that_costs_nothing_is_as_long_as_it_likes_while_the_prompt_is_paid_for() -> None:
    price = Price(prompt=1.0, completion=0.0)
    assert room(1.0, price)[0] == math.inf
    assert room(0.999, price)[0] == -math.inf


def test_what_is_under_way_is_taken_at_its_worst_and_given_back_to_the_last_digit() -> None:
    balance, cap = Balance(), Budget(usd=3.0)
    held = need_of(demand(PLAIN), 250_000)
    balance.hold(held)
    assert balance.room(cap, demand(PLAIN, prompt=0), beside=True) == (250_000, "usd")
    assert balance.room(cap, demand(PLAIN, prompt=0), beside=False) == (750_000, "usd")
    balance.give_back(held)
    assert balance.room(cap, demand(PLAIN, prompt=0), beside=True) == (750_000, "usd")


@pytest.mark.parametrize(
    ("cap", "past"),
    [
        (Budget(usd=0.3), {}),
        (Budget(usd=0.1 + 0.2), {}),
        (Budget(usd=0.25), {"usd": 0.05}),
        (Budget(tokens=100), {}),
        (Budget(tokens=101), {}),
        (Budget(tokens=99, usd=1.0), {"tokens": 1}),
        (Budget(tokens=99, usd=0.29), {"tokens": 1, "usd": 0.01}),
        (Budget(evaluations=1), {}),
        (Budget(), {}),
    ],
)
def test_only_what_is_past_its_cap_is_told_and_by_how_much(cap: Budget, past: dict[Axis, float]) -> None:
    assert Balance(usd=Decimal("0.3"), prompt_tokens=60, completion_tokens=40).overshoot(cap) == pytest.approx(past)
