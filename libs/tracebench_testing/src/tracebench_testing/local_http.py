"""What stands behind every model server of the kit: threads that end with the program, answers as JSON, and silence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class LocalServer(ThreadingHTTPServer):
    """A server that holds nobody up when it is closed."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that went away."""


class JsonHandler(BaseHTTPRequestHandler):
    """Reads and sends JSON over connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Stay silent."""

    def read_json(self) -> Any:
        """Return the body of the request; an empty object when there is none."""
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def send_json(self, status: int, payload: Mapping[str, Any], headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Send an answer."""
        self.send_bytes(status, json.dumps(payload).encode(), "application/json", headers)

    def send_bytes(self, status: int, body: bytes, kind: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Send an answer of any content type."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
