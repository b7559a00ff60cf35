"""Calls that are asked again because their answers were lost on the way: they are answered as they were, and are no further calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from weakref import WeakValueDictionary

from tracebench_gateway.cassette.scorings import Kept
from tracebench_gateway.cassette.undelivered import Undelivered
from tracebench_gateway.exchange import ChatRequest, Metered, Provider, ProviderError, Reply
from tracebench_gateway.server.metering.accounts import Account, Grant
from tracebench_gateway.server.metering.balance import Need
from tracebench_gateway.server.metering.meter import measure
from tracebench_gateway.server.requests.asked import Asked
from tracebench_gateway.tokens import Claims
from tracebench_runs.prices import PriceTable

NOTHING_MORE = Grant(Need(0, 0, Decimal(0)), None)
"""What is set aside for what was paid for."""


class IdempotentCalls:
    """Finds the answer of a filed call: as it was kept of a real model, and by asking once more where that is free and says the same."""

    def __init__(self, provider: Provider, undelivered: Undelivered | None, prices: PriceTable) -> None:
        """`undelivered`: of real models; None for a stub or a recording."""
        self._provider = provider
        self._undelivered = undelivered
        self._prices = prices
        self._locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def in_turn(self, account: Account, key: str) -> AsyncIterator[None]:
        """Let requests of one key go one after another: what is asked again while it is under way waits, and is answered as it was."""
        if not key:
            yield
            return
        name = (account.job_id, account.attempt, key)
        lock = self._locks.get(name) or self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            yield

    async def known(self, account: Account, claims: Claims, asked: Asked) -> dict[int, tuple[Reply, Metered]]:
        """Return, by their places in a request, the answers of its calls that were answered and filed; nothing is counted, and no cap
        stands against them. All others have to be made."""
        if account.filed.keys().isdisjoint(asked.keys()):
            return {}
        requests = asked.requests(claims, account, NOTHING_MORE)
        found = [await self._answer(account, request) for request in requests]
        return {place: answered for place, answered in enumerate(found) if answered is not None}

    async def _answer(self, account: Account, request: ChatRequest) -> tuple[Reply, Metered] | None:
        """Return what a filed call was answered; None for any other, and where that is not known any more."""
        filed = account.filed.get(request.key)
        if filed is None or filed.digest != request.digest:
            return None
        if self._undelivered is not None:
            return _answered(self._undelivered.find(account.attempt, request))
        request = replace(request, limit=filed.limit)
        try:
            reply = await self._provider.ask(request)
        except ProviderError:
            return None
        return reply, measure(request, reply, prices=self._prices)

    def cut_off(self, account: Account, request: ChatRequest) -> tuple[Reply, Metered] | None:
        """Return what a real model answered a call whose filing a death cut off: it is filed now."""
        if self._undelivered is None or not self._undelivered.is_of_before(account.attempt, request):
            return None
        return _answered(self._undelivered.find(account.attempt, request))

    def keep(self, account: Account, request: ChatRequest, reply: Reply, metered: Metered) -> None:
        """Keep an answer before its call is filed."""
        if self._undelivered is not None:
            self._undelivered.add(account.attempt, request, reply, metered)

    def forget(self, job_id: str, attempt: str) -> None:
        """Drop an attempt that has ended."""
        if self._undelivered is not None:
            self._undelivered.forget(job_id, attempt)


def _answered(kept: Kept | None) -> tuple[Reply, Metered] | None:
    return None if kept is None else (Reply(kept.message, kept.finish_reason), kept.metered)
