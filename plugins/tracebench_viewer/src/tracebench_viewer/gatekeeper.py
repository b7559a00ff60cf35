"""Who may speak to the viewer: checked on every request and every websocket, before Streamlit sees it.

A page of another origin must not reach it (`Origin`), no name that was rebound to this machine may (`Host`), and whoever comes, other
users of this machine as well, brings the token: once in the address, from then on as a cookie that no script can read.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE = "trace_bench_viewer_"
"""Begins the cookie's name, which ends with the viewer's own: cookies know no ports, and several viewers may run here."""
PARAMETER = "token"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Gatekeeper:
    """ASGI middleware that lets in whoever may come in."""

    def __init__(self, app: Application, *, host: str, token: str) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie_name(token)
        self._is_remote = host not in LOOPBACK
        self._names = LOOPBACK | ({host, socket.gethostname()} if self._is_remote else frozenset())

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer with 403, with a cookie and the address without the token, or hand on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        reason = self._refusal(headers)
        if reason:
            await _refuse(scope, send, reason)
        elif self._has_cookie(headers):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and self._is_token(_asked_token(scope)):
            await _redirect(scope, send, self._token)
        else:
            await _refuse(scope, send, "Open the address with the token that `trace-bench ui` printed.")

    def _refusal(self, headers: Mapping[str, str]) -> str:
        """Return why a request is turned away for where it comes from, or nothing."""
        host = headers.get("host", "")
        if not self._is_ours(_hostname(host)):
            return "This name is none of the viewer's."
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return "Pages of other origins may not speak to the viewer."
        return ""

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        if not self._is_remote:
            return False
        try:
            ipaddress.ip_address(name)  # an address cannot be rebound
        except ValueError:
            return False
        return True

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and self._is_token(found.value)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


def cookie_name(token: str) -> str:
    """Return the name of the cookie of the viewer with this token."""
    return COOKIE + hashlib.sha256(token.encode()).hexdigest()[:12]


def _hostname(host: str) -> str:
    try:
        return str(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return ""


def _asked_token(scope: Message) -> str:
    asked = bytes(scope.get("query_string", b"")).decode("latin-1")
    return parse_qs(asked).get(PARAMETER, [""])[0]


async def _redirect(scope: Message, send: Send, token: str) -> None:
    path = "/" + str(scope["path"]).lstrip("/\\")
    cookie = f"{cookie_name(token)}={token}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", path.encode()), (b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Message, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4403, "reason": reason})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"{reason}\n".encode()})
