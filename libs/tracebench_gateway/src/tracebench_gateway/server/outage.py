"""Whether a provider is away: it answered before in this run, and now it cannot be reached."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.exchange import ProviderError

PROBE = 2.0
"""Seconds between two attempts of a call that waits for its provider to come back, and the most that a look at its port takes."""
LOOK_AGAIN = 0.5
"""Seconds after which the port of a server that dropped a connection is looked at again: one that dies may close it last."""
RECENT = 10.0
"""Seconds for which a model that answers again is just back, for calls which failed while it was away and are judged later."""
AWAY_STATUS = frozenset({502, 503, 504, 529})

Verdict = Literal["away", "back", "no"]


class Outages:
    """Which models are away, and since when. A model that never answered is no outage: its address or its key is wrong."""

    def __init__(self, *, limit: float, gone: Iterable[str] = ()) -> None:
        """`limit`: seconds that calls wait, from the beginning of an outage; 0 for not at all. `gone`: addresses, see `give_up`."""
        self._limit = limit
        self._gone = set(gone)
        self._answered: set[ModelIdentity] = set()
        self._since: dict[ModelIdentity, float] = {}
        self._back: dict[ModelIdentity, float] = {}

    def answered(self, model: ModelIdentity) -> None:
        """Note that a model answered: it is not away."""
        self._answered.add(model)
        if self._since.pop(model, None) is not None:
            self._back[model] = time.monotonic()

    def give_up(self, addresses: Iterable[str]) -> None:
        """Wait for nothing at these addresses any more: what was served there is served elsewhere."""
        self._gone |= {*addresses}

    def is_gone(self, model: ModelIdentity) -> bool:
        """Say whether nobody will ever answer at a model's address again."""
        return model.base_url in self._gone

    async def verdict(self, model: ModelIdentity, error: ProviderError) -> Verdict:
        """Say of a call that failed after all retries whether its model is away, just back, or fails for another reason.

        A server that accepts connections and drops them is there: it may be this very request that breaks it.
        """
        if not self._limit or model not in self._answered or self.is_gone(model):
            return "no"
        if error.status_code not in AWAY_STATUS:
            if error.kind != "refused":
                return "no"
            if await _stays_reachable(model.base_url):
                just_back = time.monotonic() - self._back.get(model, -RECENT) < RECENT
                return "back" if model in self._since or just_back else "no"
        since = self._since.setdefault(model, time.monotonic())
        return "away" if time.monotonic() - since < self._limit else "no"

    def state(self) -> dict[str, float]:
        """Return the models that are awaited, with the seconds that they have been away."""
        now = time.monotonic()
        away = {m: now - since for m, since in self._since.items() if not self.is_gone(m)}
        return {m.model: seconds for m, seconds in away.items() if seconds < self._limit}


async def _stays_reachable(base_url: str | None) -> bool:
    """Say whether a server accepts connections, now and a moment later."""
    if not await _is_reachable(base_url):
        return False
    await asyncio.sleep(LOOK_AGAIN)
    return await _is_reachable(base_url)


async def _is_reachable(base_url: str | None) -> bool:
    """Say whether a server accepts connections; of one whose address only the library knows that is not to be told: it does not."""
    address = urlsplit(base_url or "")
    if address.hostname is None:
        return False
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(PROBE):
            _, writer = await asyncio.open_connection(address.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
