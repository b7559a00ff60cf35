"""Connections: whoever shows no key of this run is waited for briefly, and never crowds out those who have one."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

STRANGERS = 1024
"""Connections without a key at a time; one more closes the oldest. Honest callers come in hundreds, and each is a stranger at first."""
STRANGER_SECONDS = 5.0
"""How long a connection may take to show a key."""
LARGEST_HEAD = 64 * 1024
"""Bytes of a request's line and headers."""
KEEP_ALIVE_SECONDS = 75
"""How long a connection with a key may stay idle."""


class ConnectionGuard:
    """Knows which connections have not shown a key yet."""

    def __init__(self) -> None:
        self._strangers: dict[Any, tuple[HttpToolsProtocol, asyncio.TimerHandle]] = {}

    def protocol(self) -> type[HttpToolsProtocol]:
        """Return uvicorn's protocol under this guard's eyes."""
        return type("Watched", (_Watched,), {"guard": self})

    def come(self, connection: HttpToolsProtocol) -> None:
        """Watch a new connection; with too many strangers at the door, the one who has stood there longest goes."""
        if len(self._strangers) >= STRANGERS:
            oldest, timer = self._strangers.pop(next(iter(self._strangers)))
            timer.cancel()
            oldest.transport.abort()
        timer = connection.loop.call_later(STRANGER_SECONDS, self._turn_out, connection.client)
        self._strangers[connection.client] = (connection, timer)

    def leave(self, client: Any) -> None:
        """Forget a connection: it showed a key, or it is closed."""
        known = self._strangers.pop(client, None)
        if known is not None:
            known[1].cancel()

    def vouch(self, scope: Scope) -> None:
        """Take the connection of a request that showed a key for a known one."""
        self.leave(scope.get("client"))

    def _turn_out(self, client: Any) -> None:
        known = self._strangers.pop(client, None)
        if known is not None:
            known[0].transport.abort()


class _Watched(HttpToolsProtocol):
    guard: ConnectionGuard
    _head = 0
    """Bytes of a head that is not whole yet."""
    _is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class does
        super().connection_made(transport)
        self.guard.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.guard.leave(self.client)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_in_head, self._head = True, 0

    def data_received(self, data: bytes) -> None:
        """Hand on what came; of a head, no more than it may have, so that a body is never counted as one."""
        while self._is_in_head and self._head + len(data) > LARGEST_HEAD and not self.transport.is_closing():
            room = LARGEST_HEAD - self._head
            self._head += room
            super().data_received(data[:room])
            data = data[room:]
            if self._is_in_head and self._head == LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response(f"The head of the request is larger than {LARGEST_HEAD} bytes.")
        if data and not self.transport.is_closing():
            self._head += len(data) if self._is_in_head else 0
            super().data_received(data)


def raise_descriptor_limit() -> None:
    """Take as many descriptors as this machine grants: each caller is one, and its call to a provider another."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
