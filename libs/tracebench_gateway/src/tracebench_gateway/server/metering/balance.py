"""What was used, what calls under way may still use, and how much room a cap leaves for a request."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from tracebench_core import money
from tracebench_core.money import exact
from tracebench_core.specs import OF_CALLS, Axis, Budget, BudgetState, Price, Usage, amounts_of

PER_MILLION = 1_000_000


class Demand(NamedTuple):
    """What a request may cost at most, but for the length of its answers."""

    calls: int
    prompt: int
    """Tokens of all calls' prompts together, by our estimate."""
    limit: int | None
    """Tokens that each answer may have, where the caller or the config says so."""
    price: Price | None
    most: int = 0
    """Tokens that the prompts can be at most: what is set aside where a cap is strict."""
    fewest: int = 1
    """Tokens without which an answer is none; 0 for what answers without text."""


class Need(NamedTuple):
    """What is set aside for a request while it is under way."""

    calls: int
    tokens: int
    usd: Decimal


class Room(NamedTuple):
    """How many tokens each answer of a request may have, and the axis that leaves no more; below zero, the prompt alone is too much."""

    tokens: float
    axis: Axis | None


AFTERWARDS: tuple[Axis, ...] = tuple(OF_CALLS.keys() - {"llm_calls", "tokens", "usd"})
"""Axes on which nobody can say beforehand what a request takes: one that is spent turns the next request away."""
FREE = Room(math.inf, None)
NOTHING = Need(0, 0, Decimal(0))


def is_charged(record: dict[str, Any]) -> bool:
    """Tell whether a finished call counts: a model or the cache answered it, or its prompt was sent and is paid for."""
    status: str = record["status"]
    return status == "ok" or (status == "error" and bool(record["prompt_tokens"]))


@dataclass(slots=True)
class Balance:
    """Counters of what was used, and of what is set aside. `usd` is None once a call of unknown price was served."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: Decimal | None = Decimal(0)
    cached_calls: int = 0
    retries: int = 0
    refused: int = 0
    errors: int = 0
    estimated_tokens: int = 0
    held: Need = NOTHING
    clock: float | None = None
    """Monotonic seconds at which training began."""

    def charge(self, record: dict[str, Any]) -> None:
        """Count one finished call."""
        if record["status"] == "refused":
            self.refused += 1
            return
        self.errors += record["status"] == "error"
        self.llm_calls += is_charged(record)
        self.prompt_tokens += record["prompt_tokens"]
        self.completion_tokens += record["completion_tokens"]
        self.cached_tokens += record["cached_tokens"]
        self.estimated_tokens += record["prompt_tokens"] + record["completion_tokens"] if record.get("estimated") else 0
        self.cached_calls += record.get("cached", False)
        self.retries += record.get("retries", 0)
        usd = record["usd"]
        self.usd = None if usd is None or self.usd is None else self.usd + exact(usd)

    def hold(self, need: Need) -> None:
        """Set `need` aside."""
        held = self.held
        self.held = Need(held.calls + need.calls, held.tokens + need.tokens, held.usd + need.usd)

    def give_back(self, need: Need) -> None:
        """Give back what was set aside; nothing under way means nothing held, to the last digit."""
        held = self.held
        left = Need(held.calls - need.calls, held.tokens - need.tokens, held.usd - need.usd)
        self.held = left if left.calls else NOTHING

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def usage(self) -> dict[str, Any]:
        """Return the counters under the names of `Usage`, which tells calls that a model answered from those that the cache did."""
        counted = {name: getattr(self, name) for name in Usage.model_fields}
        usd = None if self.usd is None else float(self.usd)
        return counted | {"llm_calls": self.llm_calls - self.cached_calls, "usd": usd}

    def seconds(self) -> float:
        """Return the seconds since training began, 0 before that."""
        return 0.0 if self.clock is None else time.monotonic() - self.clock

    def state(self) -> BudgetState:
        """Return what is used on the axes that the gateway sees."""
        return BudgetState.of(Usage(**self.usage()), seconds=self.seconds())

    def room(self, budget: Budget, demand: Demand, *, beside: bool) -> Room:
        """Return how long each answer may be.

        Args:
            beside: with what is under way taken at its worst; otherwise as if that had cost nothing, so that a request without room
                even then has none at all.
        """
        held = self.held if beside else NOTHING
        if budget.llm_calls is not None and self.llm_calls + held.calls + demand.calls > budget.llm_calls:
            return Room(-math.inf, "llm_calls")
        if budget.seconds is not None and self.seconds() >= budget.seconds:
            return Room(-math.inf, "seconds")
        for axis in AFTERWARDS:
            cap, used = getattr(budget, axis), OF_CALLS[axis](Usage(**self.usage()))
            if cap is not None and (used is None or used >= cap):
                return Room(-math.inf, axis)
        rooms = [FREE]
        if budget.tokens is not None:
            left = budget.tokens - self.tokens - held.tokens - demand.prompt
            rooms.append(Room(left // demand.calls, "tokens"))
        if budget.usd is not None:
            rooms.append(Room(self._affordable(exact(budget.usd) - held.usd, demand), "usd"))
        return min(rooms, key=lambda room: room.tokens)

    def _affordable(self, cap: Decimal, demand: Demand) -> float:
        """Return the tokens per answer that the rest of `cap` pays; an unknown price or amount pays for none."""
        if self.usd is None or demand.price is None or self.usd >= cap:
            return -math.inf
        left = (cap - self.usd) * PER_MILLION - demand.prompt * dearest_prompt(demand.price)
        if demand.price.completion == 0:
            return math.inf if left >= 0 else -math.inf
        return float(left / exact(demand.price.completion) // demand.calls)

    def overshoot(self, budget: Budget) -> dict[Axis, float]:
        """Return how far each capped axis is past its cap, where it is."""
        used = {axis: amount or 0.0 for axis, amount in amounts_of(Usage(**self.usage())).items()}
        return {a: _beyond(a, used[a], cap) for a, cap in budget.caps().items() if a in used and used[a] > cap}


def _beyond(axis: Axis, used: float, cap: float) -> float:
    return money.less(used, cap) if axis == "usd" else used - cap


def dearest_prompt(price: Price) -> Decimal:
    """Return what a million tokens of a prompt cost at most: nobody knows beforehand how they will be billed."""
    return exact(max(price.prompt, price.cached or 0.0, price.written or 0.0))


def need_of(demand: Demand, limit: int | None) -> Need:
    """Return what a request takes with answers of up to `limit` tokens; what nobody limits is held as nothing and capped by nothing."""
    completion = demand.calls * (limit or 0)
    price = demand.price
    usd = Decimal(0)
    if price is not None:
        usd = demand.prompt * dearest_prompt(price) + completion * exact(price.completion)
    return Need(demand.calls, demand.prompt + completion, usd / PER_MILLION)
