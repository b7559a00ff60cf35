"""Several servers at once, each a process: one with a queue, one killed at work, one that stops answering, one with another token."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from plugins.tracebench_kernelbench.tests.serving import TINY, serving, wait_for

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_kernelbench.client import Servers, judge_remotely
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.server.orders import Order

SOURCE = PROBLEMS["argmax"].source
ENDLESS = "void kernel(const float* x, int* out) { for (volatile int i = 0;; i++) ; }"
HONEST = Order(problem="argmax", source=SOURCE, effort=Effort.model_validate(TINY))


def asking(address: str, token: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False)


def counts(address: str, token: str) -> dict[str, Any]:
    with asking(address, token) as http:
        found: dict[str, Any] = http.get("/status").json()["queue_info"]
    return found


def until_busy(address: str, token: str) -> None:
    with asking(address, token) as http:
        limit = time.monotonic() + 120
        while http.get("/status").json()["device_status"]["cpu:0"] != "busy":
            assert time.monotonic() < limit
            time.sleep(0.02)


@pytest.mark.heavy("kernels")
@pytest.mark.timeout(600)
def test_jobs_are_judged_while_servers_die_stop_and_refuse(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Four clients at once. The good server is asked last: three jobs of somebody else wait there, of which one never ends by itself."""
    monkeypatch.setenv("OURS", "secret")
    caplog.set_level(logging.WARNING)
    ours = {"KERNELBENCH_TOKEN": "secret"}
    with (
        serving(**ours) as (killed, killed_pid),
        serving(**ours) as (stopped, stopped_pid),
        serving(KERNELBENCH_TOKEN="another") as (foreign, _),
        serving(**ours) as (good, _),
        asking(good, "secret") as http,
    ):
        held = {"problem": "argmax", "custom_cuda": ENDLESS, "timeout": 20, "effort": TINY | {"call_seconds": 50}}
        endless = http.post("/evaluate", json=held).json()["job_id"]
        others = [
            http.post("/evaluate", json={"problem": "argmax", "custom_cuda": SOURCE, "effort": TINY}).json()["job_id"]
            for _ in range(2)
        ]
        slow = Order(problem="argmax", source=ENDLESS, effort=Effort.model_validate(TINY | {"call_seconds": 8}))
        addresses = f"{killed},{stopped},{foreign},{good}"
        os.kill(stopped_pid, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(4) as pool, Servers(addresses, token_variable="OURS") as servers:
                first = pool.submit(judge_remotely, servers, slow, patience=400)
                until_busy(killed, "secret")
                rest = [pool.submit(judge_remotely, servers, HONEST, patience=400) for _ in range(3)]
                threading.Timer(1.0, os.kill, (killed_pid, signal.SIGKILL)).start()
                verdicts = [future.result() for future in (first, *rest)]
            strangers = [wait_for(http, job, "completed", "failed") for job in (endless, *others)]
            done = counts(good, "secret")
        finally:
            os.kill(stopped_pid, signal.SIGCONT)
        assert [verdict.status for verdict in verdicts] == ["timeout", "ok", "ok", "ok"]
        assert all(verdict.correct for verdict in verdicts[1:])
        assert strangers[0]["error"] == "It took longer than 20 s."
        assert [state["status"] for state in strangers[1:]] == ["completed", "completed"]
        assert done["queued_jobs"] == done["active_jobs"] == 0
        assert done["completed_jobs"] >= 4, "what the killed one had under way was judged here"
        assert counts(foreign, "another")["completed_jobs"] == 0
        assert counts(stopped, "secret")["completed_jobs"] == 0
    told = [record.getMessage() for record in caplog.records if "the token is missing or wrong" in record.getMessage()]
    assert len(told) == 1, told
    assert foreign in told[0]


@pytest.mark.heavy("kernels")
def test_where_every_server_refuses_nothing_is_measured_and_nobody_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "secret")
    with (
        serving(KERNELBENCH_TOKEN="one") as (one, _),
        serving(KERNELBENCH_TOKEN="two") as (two, _),
        Servers(f"{one},{two}", token_variable="OURS") as servers,
        pytest.raises(NotMeasured, match="the token is missing or wrong") as refused,
    ):
        judge_remotely(servers, HONEST, patience=20)

    assert not refused.value.retry
