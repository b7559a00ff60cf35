"""Admission: a request sets aside the worst it can cost, waits while only calls under way stand in its way, and gives back what is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tracebench_core.specs import Budget, ModelIdentity
from tracebench_gateway.access import Phase, Refusal
from tracebench_gateway.server.metering.accounts import Account, Accounts, Grant
from tracebench_gateway.server.metering.balance import Demand

LONGEST_NAP = 1.0
"""Seconds after which a waiting request looks again: caps in seconds pass without anybody's doing."""

IsGone = Callable[[], Awaitable[bool]]


class CallerGone(Exception):  # noqa: N818 - nothing went wrong
    """The caller hung up before its request was asked of anybody."""


class Admission:
    """The one way to a grant, and the one way back: whatever happens in between, nothing stays set aside."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._settled = asyncio.Event()

    @asynccontextmanager
    async def hold(
        self, account: Account, budget: Budget, demand: Demand, *, phase: Phase, is_gone: IsGone
    ) -> AsyncIterator[Grant | Refusal]:
        """Hold what a request may cost at most, or learn which cap forbids it.

        Raises:
            CallerGone: when the caller hangs up while it waits.
        """
        while (granted := self._accounts.grant(account, budget, demand, phase=phase)) is None:
            await self._wait()
            if await is_gone():
                raise CallerGone
        if isinstance(granted, Refusal):
            yield granted
            return
        try:
            yield granted
        finally:
            self._accounts.give_back(account, phase, granted.need)
            settled, self._settled = self._settled, asyncio.Event()
            settled.set()

    async def _wait(self) -> None:
        """Wait until a request has given back; those who wait look again in the order in which they came."""
        try:
            async with asyncio.timeout(LONGEST_NAP):
                await self._settled.wait()
        except TimeoutError:
            return


BURST_SECONDS = 1.0
"""A bucket that was idle lets through at most what a second's rate allows, and one call at least."""


class TokenBucket:
    """Lets `per_minute` calls start per minute, in the order in which they asked."""

    def __init__(self, per_minute: float) -> None:
        self._interval = 60.0 / per_minute
        self._burst = max(1.0, BURST_SECONDS / self._interval)
        self._next = 0.0

    async def take(self) -> None:
        """Wait for this call's turn."""
        now = time.monotonic()
        self._next = max(self._next, now - (self._burst - 1) * self._interval)
        turn = self._next
        self._next += self._interval
        if turn > now:
            await asyncio.sleep(turn - now)


class Limits:
    """The limits of every model that is asked."""

    def __init__(self, *, concurrency: int, per_minute: float | None) -> None:
        self._concurrency = concurrency
        self._per_minute = per_minute
        self._slots: dict[ModelIdentity, asyncio.Semaphore] = {}
        self._buckets: dict[ModelIdentity, TokenBucket] = {}

    @asynccontextmanager
    async def slot(self, identity: ModelIdentity) -> AsyncIterator[None]:
        """Hold one of the model's slots for one attempt, once the rate allows it to start."""
        if identity not in self._slots:
            self._slots[identity] = asyncio.Semaphore(self._concurrency)
            if self._per_minute is not None:
                self._buckets[identity] = TokenBucket(self._per_minute)
        async with self._slots[identity]:
            if identity in self._buckets:
                await self._buckets[identity].take()
            yield
