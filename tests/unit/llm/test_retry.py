"""When a failed call is made again, after how long, and when it is not: by its kind, its count, the time and what the provider asks for."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence

import pytest

from tracebench_gateway.exchange import ProviderError, Reply
from tracebench_gateway.server.outage import Verdict
from tracebench_gateway.server.retry import Answered, ask_with_retries

REPLY = Reply({"role": "assistant", "content": "so"}, "stop")


class Longest(random.Random):
    """Draws the longest delay that may be drawn."""

    def uniform(self, a: float, b: float) -> float:
        return max(a, b)


class Shortest(random.Random):
    """Draws the shortest delay that may be drawn."""

    def uniform(self, a: float, b: float) -> float:
        return min(a, b)


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the delays that were slept, in no time."""
    slept: list[float] = []
    ordinary = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await ordinary(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


def ask(
    failures: Sequence[ProviderError],
    *,
    most: int = 99,
    left: float = 10_000.0,
    may_retry: bool = True,
    verdicts: Sequence[Verdict] | None = None,
    rng: random.Random | None = None,
) -> Answered:
    """Ask a provider that fails so often and then replies; with `verdicts` on whether it is away."""
    waiting, judged = list(failures), list(verdicts or ())

    async def attempt() -> Reply:
        if waiting:
            raise waiting.pop(0)
        return REPLY

    async def judge(_error: ProviderError) -> Verdict:
        return judged.pop(0)

    async def main() -> Answered:
        return await ask_with_retries(
            attempt, max_retries=most, deadline=time.monotonic() + left, may_retry=lambda: may_retry, rng=rng or Longest(),
            judge=judge if verdicts is not None else None,
        )  # fmt: skip

    return asyncio.run(main())


def failing(times: int, kind: str = "server", retry_after: float | None = None) -> list[ProviderError]:
    return [ProviderError(f"no {i}", kind=kind, retry_after=retry_after) for i in range(times)]


def test_delays_double_from_half_a_second_to_half_a_minute(naps: list[float]) -> None:
    assert ask(failing(8)) == Answered(REPLY, 8)
    assert naps == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_delay_may_be_none_and_a_probe_waits_half_its_time_at_least(naps: list[float]) -> None:
    assert ask(failing(3), most=1, verdicts=["away"], rng=Shortest()).retries == 3
    assert naps == [0, 1, 0]


def test_what_the_provider_asks_for_comes_on_top(naps: list[float]) -> None:
    assert ask(failing(2, "rate_limited", 7.0)).retries == 2
    assert naps == [7.5, 8.0]


@pytest.mark.parametrize(("retry_after", "retries"), [(299.5, 1), (299.6, 0)])
def test_five_minutes_are_waited_and_no_more(retry_after: float, retries: int, naps: list[float]) -> None:
    answered = ask(failing(1, "rate_limited", retry_after))
    assert (answered.retries, answered.result is REPLY, len(naps)) == (retries, retries == 1, retries)


@pytest.mark.parametrize(
    ("kind", "is_retried"),
    [("rate_limited", True), ("server", True), ("refused", True), ("timeout", True), ("malformed", False), ("auth", False),
     ("request", False)],
)  # fmt: skip
def test_what_may_be_otherwise_next_time_is_asked_again(kind: str, is_retried: bool, naps: list[float]) -> None:
    assert (ask(failing(1, kind)).result is REPLY) is bool(naps) is is_retried


@pytest.mark.parametrize(("most", "retries", "replied"), [(0, 0, False), (2, 2, False), (3, 3, True)])
def test_so_many_retries_and_no_more(most: int, retries: int, replied: bool, naps: list[float]) -> None:
    errors = failing(3)
    answered = ask(errors, most=most)
    assert answered == Answered(REPLY if replied else errors[retries], retries)
    assert len(naps) == retries


def test_nothing_is_asked_again_where_it_may_not_or_the_time_would_be_over(naps: list[float]) -> None:
    errors = failing(1)
    assert ask(errors, may_retry=False) == ask(errors, left=0.4) == Answered(errors[0], 0)
    assert naps == []
    assert ask(errors, left=5.0) == Answered(REPLY, 1)


def test_a_call_that_takes_all_the_time_is_told_as_timed_out() -> None:
    late = asyncio.run(_late())
    assert isinstance(late.result, ProviderError)
    assert (late.result.kind, late.retries) == ("timeout", 0)
    assert str(late.result) == "the job's time is up while its model is asked"


async def _late() -> Answered:
    async def attempt() -> Reply:
        await asyncio.Event().wait()
        return REPLY

    return await ask_with_retries(
        attempt, max_retries=9, deadline=time.monotonic() + 0.01, may_retry=lambda: True, rng=random.Random(0)
    )


@pytest.mark.parametrize(
    ("verdicts", "retries", "replied"),
    [
        (["no"], 1, False),
        (["away", "back"], 4, True),  # probed once more, and then its retries begin anew
        (["back"], 3, True),
        (["back", "back"], 3, False),  # back twice in a row: no further beginning
    ],
)
def test_a_provider_that_is_away_is_probed_and_asked_anew_when_it_is_back(
    verdicts: list[Verdict], retries: int, replied: bool, naps: list[float]
) -> None:
    errors = failing(retries + (0 if replied else 1))
    answered = ask(errors, most=1, verdicts=verdicts)
    assert answered == Answered(REPLY if replied else errors[-1], retries)
    assert naps[0] == 0.5
    assert all(nap in {0.5, 2.0} for nap in naps)


def test_a_call_may_be_repeated_more_often_than_a_float_is_doubled(naps: list[float]) -> None:
    assert ask(failing(1100), most=2000, left=1e9) == Answered(REPLY, 1100)
    assert naps[-1] == 30.0
