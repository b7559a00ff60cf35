"""The model as the libraries' processes ask it."""

from __future__ import annotations

import json
import socketserver
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import tracebench_engine.door
from tracebench_trainers_ext.launch import ADAPTERS

sys.path.insert(0, str(ADAPTERS))
sys.path.insert(0, str(Path(tracebench_engine.door.__file__).parent / "foreign"))
from tracebench_adapters.model import Model


class Once(socketserver.StreamRequestHandler):
    """Answers one request and closes, as a server does with a connection on which nothing came for a while."""

    def handle(self) -> None:
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        self.rfile.read(length)
        said = json.dumps({"choices": [{"message": {"content": "yes"}}]}).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))


def test_a_call_after_a_long_evaluation_is_answered() -> None:
    """The gateway closes a connection after 75 seconds without a call; a measurement may take longer."""
    with socketserver.TCPServer(("127.0.0.1", 0), Once) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        model = Model(SimpleNamespace(model="m", base_url=url, api_key="k"))
        assert [model.ask("q") for _ in range(3)] == [["yes"]] * 3
        server.shutdown()
