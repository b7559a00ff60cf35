"""Requests of one key go one after another; those of other keys, of other attempts, and without a key go side by side."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_gateway.server.idempotency import IdempotentCalls


async def most_at_once(askers: list[tuple[str, str]]) -> int:
    """Return how many of these (attempt, key) were in their turn at one time."""
    nobody: Any = None  # neither a provider nor a price is asked here
    calls, now, most = IdempotentCalls(nobody, None, nobody), 0, 0

    async def ask(attempt: str, key: str) -> None:
        nonlocal now, most
        account: Any = SimpleNamespace(job_id="j", attempt=attempt)
        async with calls.in_turn(account, key):
            now += 1
            most = max(most, now)
            for _ in range(5):
                await asyncio.sleep(0)
            now -= 1

    await asyncio.gather(*(ask(*asker) for asker in askers))
    return most


@pytest.mark.parametrize(
    ("askers", "most"),
    [
        ([("1", "k")] * 3, 1),
        ([("1", "k"), ("1", "other"), ("1", "k")], 2),
        ([("1", "k"), ("2", "k")], 2),
        ([("1", "")] * 3, 3),
    ],
)
def test_what_is_asked_again_under_way_waits_and_nothing_else_does(askers: list[tuple[str, str]], most: int) -> None:
    assert asyncio.run(most_at_once(askers)) == most


def test_one_that_fails_in_its_turn_lets_the_next_one_in() -> None:
    async def ask() -> None:
        nobody: Any = None
        calls, account = IdempotentCalls(nobody, None, nobody), SimpleNamespace(job_id="j", attempt="1")
        for _ in range(2):
            with pytest.raises(KeyError):
                async with asyncio.timeout(5), calls.in_turn(account, "k"):  # type: ignore[arg-type]  # as above
                    raise KeyError

    asyncio.run(ask())
