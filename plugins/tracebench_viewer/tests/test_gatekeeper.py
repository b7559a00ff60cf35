"""Who may speak to the viewer, over real HTTP on this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tracebench_viewer.gatekeeper import COOKIE, Gatekeeper

TOKEN = "a-token-of-the-test"


@contextmanager
def served(token: str | None, host: str = "127.0.0.1") -> Iterator[str]:
    async def hello(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("inside")

    app = Gatekeeper(Starlette(routes=[Route("/{path:path}", hello)]), host=host, token=token)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:8501"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_other_names_and_origins_stay_outside(headers: dict[str, str], status: int) -> None:
    with served(None) as url:
        assert httpx.get(url, headers=headers).status_code == status
        assert httpx.get(url, headers={"Origin": url}).status_code == 200


def test_a_viewer_for_other_machines_wants_its_token_once_and_then_its_cookie() -> None:
    with served(TOKEN, host="0.0.0.0") as url:
        assert httpx.get(f"{url}/job").status_code == 403
        assert httpx.get(f"{url}/job?token=wrong").status_code == 403
        answer = httpx.get(f"{url}//evil.example/?token={TOKEN}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/evil.example/")
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert httpx.get(url, headers={"Cookie": f"{COOKIE}={TOKEN}"}).text == "inside"
        assert httpx.get(url, headers={"Cookie": f"{COOKIE}=wrong"}).status_code == 403
        assert httpx.get(url, headers={"Cookie": f"{COOKIE}={TOKEN}", "Host": "evil.example"}).status_code == 403


def test_websockets_are_asked_the_same() -> None:
    with served(TOKEN, host="0.0.0.0") as url:
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
        }
        assert httpx.get(f"{url}/_stcore/stream", headers=headers).status_code == 403
