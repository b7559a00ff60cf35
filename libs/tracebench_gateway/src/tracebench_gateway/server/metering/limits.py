"""Limits that all jobs share, per model: how many calls run at once, and how many start per minute."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tracebench_core.specs import ModelIdentity

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
