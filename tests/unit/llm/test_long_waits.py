"""A job waits for an answer as long as its model may take, also where that is longer than a system counts."""

from __future__ import annotations

import threading
import time

import pytest

from tracebench_core.specs import ModelIdentity
from tracebench_gateway.access import JobAccess
from tracebench_gateway.client import GatewayClient
from tracebench_testing.local_http import JsonHandler, LocalServer


class Slow(JsonHandler):
    def do_GET(self) -> None:  # noqa: N802 - the base class names it
        time.sleep(0.05)
        self.send_json(200, {})


@pytest.mark.parametrize("seconds", [4294967.3, 1e12, 1e300], ids=str)
def test_a_patience_of_months_is_none_of_milliseconds(seconds: float) -> None:
    server = LocalServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    access = JobAccess(
        job_id="j",
        base_url=f"http://127.0.0.1:{server.server_address[1]}/v1",
        keys={"agent": {"training": "k", "scoring": "k"}},
        engine_key="k",
        models={"agent": ModelIdentity(provider="stub", model="stub")},
        timeout=seconds,
    )
    client = GatewayClient(access)
    try:
        assert client._exchange("GET", "/", {}, None) == (200, b"{}")
    finally:
        client.close()
        server.shutdown()
        server.server_close()
        thread.join()
