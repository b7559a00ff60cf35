"""Who may speak to the viewer, over real HTTP on this machine."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
import uvicorn
from plugins.tracebench_viewer.tests import visiting
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tracebench_viewer.gatekeeper import Gatekeeper, cookie_name

TOKEN = "a-token-of-the-test"
WITH_COOKIE = {"Cookie": f"{cookie_name(TOKEN)}={TOKEN}"}


@contextmanager
def served(token: str, host: str = "127.0.0.1") -> Iterator[str]:
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
    with served(TOKEN) as url:
        assert httpx.get(url, headers={**WITH_COOKIE, **headers}).status_code == status
        assert httpx.get(url, headers={**WITH_COOKIE, "Origin": url}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_viewer_wants_its_token_once_and_then_its_cookie(host: str) -> None:
    with served(TOKEN, host=host) as url:
        assert httpx.get(f"{url}/job").status_code == 403
        assert httpx.get(f"{url}/job?token=wrong").status_code == 403
        answer = httpx.get(f"{url}//evil.example/?token={TOKEN}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/evil.example/")
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert httpx.get(url, headers=WITH_COOKIE).text == "inside"
        assert httpx.get(url, headers={"Cookie": f"{cookie_name(TOKEN)}=wrong"}).status_code == 403
        assert httpx.get(url, headers={**WITH_COOKIE, "Host": "evil.example"}).status_code == 403


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


def test_websockets_are_asked_the_same() -> None:
    with served(TOKEN) as url:
        assert httpx.get(f"{url}/_stcore/stream", headers=UPGRADE).status_code == 403


@pytest.mark.skipif(
    find_spec("streamlit") is None, reason="Streamlit is not installed: pip install 'tracebench-engine[ui]'"
)
def test_another_user_is_turned_away_from_page_socket_and_file_and_whoever_read_the_address_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").mkdir()
    with visiting.served(tmp_path / "runs", tmp_path) as address:
        url = address.partition("/?")[0]
        with httpx.Client(follow_redirects=True) as reader:
            script = re.search(r'src="\./(static/js/[^"]+)"', reader.get(address).text)
        assert script, "the page's own script"
        for path, headers in (("", {}), (script[1], {}), ("_stcore/health", {}), ("_stcore/stream", UPGRADE)):
            assert httpx.get(f"{url}/{path}", headers=headers).status_code == 403, path
        with httpx.Client(base_url=url) as mine:
            assert mine.get(address).status_code == 303
            assert [mine.get(path).status_code for path in ("/", f"/{script[1]}", "/_stcore/health")] == [200, 200, 200]
