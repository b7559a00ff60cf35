"""Retries a failed model call: full jitter, `Retry-After` of a rate limit (429) honoured, ended at a deadline."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tracebench_gateway.exchange import ProviderError, Reply
from tracebench_gateway.server.outage import PROBE, Verdict

RETRIED = frozenset({"rate_limited", "server", "refused", "timeout"})
"""What may be otherwise next time. A malformed answer was served, and perhaps paid: it is not asked for again."""
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
_MOST_DOUBLED = 10
"""Times, after which it is the longest delay in any case."""
LONGEST_WAIT = 300.0
"""Seconds; a provider that asks to be left alone for longer is taken at its word, and the call fails now."""


@dataclass(frozen=True, slots=True)
class Answered:
    """How a call ended, after so many retries."""

    result: Reply | ProviderError
    retries: int


async def ask_with_retries(
    attempt: Callable[[], Awaitable[Reply]],
    *,
    max_retries: int,
    deadline: float,
    may_retry: Callable[[], bool],
    rng: random.Random,
    judge: Callable[[ProviderError], Awaitable[Verdict]] | None = None,
) -> Answered:
    """Ask until there is a reply, an error that asking again will not mend, or no time. `deadline` is monotonic seconds.

    The delay before the k-th retry is uniform in [0, min(30, 0.5 * 2**k)] seconds ("full jitter"), on top of what the
    provider asked for. When these are used up, `judge` says whether the provider is just away: then it is probed until it is back,
    and the retries begin anew.
    """
    retries = fresh = 0
    is_back = False
    while True:
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                return Answered(await attempt(), retries)
        except TimeoutError:
            return Answered(ProviderError("the job's time is up while its model is asked", kind="timeout"), retries)
        except ProviderError as error:
            delay = rng.uniform(0, min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(fresh, _MOST_DOUBLED))) + (
                error.retry_after or 0.0
            )
            hopeless = error.kind not in RETRIED or fresh >= max_retries or delay > LONGEST_WAIT
            verdict = await judge(error) if hopeless and judge is not None and may_retry() else "no"
            if verdict == "away" or (verdict == "back" and not is_back):
                hopeless, delay, is_back = False, PROBE * rng.uniform(0.5, 1.0), verdict == "back"
                fresh = -1
            if hopeless or not may_retry() or time.monotonic() + delay >= deadline:
                return Answered(error, retries)
        await asyncio.sleep(delay)
        retries += 1
        fresh += 1
