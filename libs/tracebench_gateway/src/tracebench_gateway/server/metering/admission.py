"""Admission: a request sets aside the worst it can cost, waits while only calls under way stand in its way, and gives back what is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tracebench_core.specs import Budget
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
