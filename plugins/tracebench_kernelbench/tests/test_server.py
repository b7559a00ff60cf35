"""The evaluation server as a process of its own, asked by a plain HTTP client; and our client before servers that misbehave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from plugins.tracebench_kernelbench.tests.serving import TINY, serving, wait_for, workers

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_kernelbench.client import Servers, judge_remotely
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.server.orders import Order, Submission, sent, told_backend
from tracebench_kernelbench.settings import SETTINGS

SOURCE = PROBLEMS["argmax"].source
ORDER = Order(problem="argmax", source=SOURCE, effort=Effort.model_validate(TINY))
MODULE = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x) + 1\n"
MODULE += "\ndef get_inputs():\n    return [torch.rand(64, 256)]\n\ndef get_init_inputs():\n    return []\n"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed: pip install torch")


@pytest.fixture(scope="module")
def server(sandbox: Sandbox) -> Iterator[tuple[str, int]]:
    with serving() as address_and_pid:
        yield address_and_pid


@pytest.fixture
def http(server: tuple[str, int]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server[0], timeout=60, trust_env=False) as client:
        yield client


def test_it_answers_as_the_clients_of_kernelbench_expect(http: httpx.Client) -> None:
    assert "message" in http.get("/").json()
    status = http.get("/status").json()
    assert status["device_status"] == {"cpu:0": "idle"}
    assert set(status["queue_info"]) == {"queued_jobs", "active_jobs", "completed_jobs", "available_devices"}
    body = {
        "problem_id": list(PROBLEMS).index("argmax"),
        "sample_id": 0,
        "ref_arch_src": "",
        "custom_cuda": SOURCE,
        "level": 0,
    }
    answer = http.post("/evaluate_sync", json=body | {"effort": TINY}).json()
    assert answer["status"] == "completed"
    assert answer["result"]["compiled"]
    assert answer["result"]["correctness"]
    assert answer["result"]["runtime"] == answer["result"]["metadata"]["verdict"]["metrics"]["candidate_ms"] > 0
    bad = http.post("/evaluate_sync", json={"problem": "own/argmax", "custom_cuda": "int x;", "effort": TINY}).json()
    assert bad["result"]["compiled"]
    assert not bad["result"]["correctness"]
    assert "defines no function" in bad["result"]["metadata"]["text"]
    assert [job["job_id"] for job in http.get("/jobs").json()["completed_jobs"]][-2:] == [
        answer["job_id"],
        bad["job_id"],
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 422),
        ("[]", 422),
        ('{"problem": "own/argmax"}', 422),
        ('{"problem": "own/nothing", "custom_cuda": ""}', 422),
        ('{"problem_id": 3, "level": 1, "custom_cuda": ""}', 422),
        ('{"problem_id": 9999, "custom_cuda": ""}', 422),
        ('{"problem": "argmax", "custom_cuda": "", "timeout": -1}', 422),
        ('{"problem": "argmax", "custom_cuda": "' + "x" * (5 << 20) + '"}', 413),
    ],
)
def test_bad_bodies_are_refused_in_words(http: httpx.Client, body: str, status: int) -> None:
    answer = http.post("/evaluate", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["detail"]


def test_it_takes_no_orders_from_web_pages(http: httpx.Client) -> None:
    assert http.post("/evaluate", content="{}", headers={"content-type": "text/plain"}).status_code == 400
    assert http.get("/status", headers={"host": "evil.example"}).status_code == 403
    assert http.get("/job/unknown").status_code == 404


@pytest.mark.heavy("kernels")
def test_a_job_that_takes_too_long_fails_alone(http: httpx.Client) -> None:
    slow = "void kernel(const float* x, int* out) { for (volatile int i = 0;; i++) ; }"
    body = {"problem": "argmax", "custom_cuda": slow, "timeout": 6, "effort": TINY | {"call_seconds": 50}}
    first = http.post("/evaluate", json=body).json()["job_id"]
    second = http.post("/evaluate", json={"problem": "argmax", "custom_cuda": SOURCE, "effort": TINY}).json()["job_id"]
    assert "longer than 6 s" in wait_for(http, first, "failed", "completed")["error"]
    assert wait_for(http, second, "failed", "completed")["status"] == "completed"


@pytest.mark.heavy("kernels")
def test_a_killed_worker_is_replaced_and_its_job_judged(http: httpx.Client, server: tuple[str, int]) -> None:
    body = {"problem": "argmax", "custom_cuda": SOURCE, "effort": TINY | {"most": 200, "least": 200}}
    http.post("/evaluate_sync", json=body | {"effort": TINY})
    (worker,) = workers(server[1])
    job = http.post("/evaluate", json=body).json()["job_id"]
    wait_for(http, job, "running")
    os.kill(worker, signal.SIGKILL)
    assert wait_for(http, job, "failed", "completed")["status"] == "completed"
    assert workers(server[1]) not in ([], [worker])


@pytest.mark.heavy("kernels")
def test_addresses_beyond_this_machine_need_a_token() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "KERNELBENCH_TOKEN"}
    argv = [
        str(Path(sys.executable).with_name("trace-bench")),
        "kernelbench",
        "serve",
        "--host",
        "0.0.0.0",
        "--port",
        "0",
    ]
    refused = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    assert refused.returncode == 2
    assert "KERNELBENCH_TOKEN" in refused.stderr
    with serving("--host", "0.0.0.0", KERNELBENCH_TOKEN="secret") as (address, _):
        url = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/status", trust_env=False).status_code == 401
        assert httpx.get(f"{url}/status", headers={"authorization": "Bearer wrong"}, trust_env=False).status_code == 401
        assert (
            httpx.get(f"{url}/status", headers={"authorization": "Bearer secret"}, trust_env=False).status_code == 200
        )


@pytest.mark.heavy("kernels")
def test_a_cancelled_job_ends_wherever_it_is_and_the_next_one_is_judged(http: httpx.Client) -> None:
    slow = "void kernel(const float* x, int* out) { for (volatile int i = 0;; i++) ; }"
    body = {"problem": "argmax", "custom_cuda": slow, "timeout": 100, "effort": TINY | {"call_seconds": 50}}
    running, waiting = (http.post("/evaluate", json=body).json()["job_id"] for _ in range(2))
    last = http.post("/evaluate", json={"problem": "argmax", "custom_cuda": SOURCE, "effort": TINY}).json()["job_id"]
    wait_for(http, running, "running")

    assert http.post(f"/job/{waiting}/cancel").json()["status"] == "failed"
    http.post(f"/job/{running}/cancel")

    assert wait_for(http, running, "failed", "completed")["error"] == "It was cancelled."
    assert wait_for(http, last, "failed", "completed")["status"] == "completed"
    assert http.post(f"/job/{last}/cancel").json()["status"] == "completed"
    assert http.post("/job/unknown/cancel").status_code == 404


@pytest.mark.heavy("kernels")
def test_who_stops_waiting_takes_its_job_along(http: httpx.Client, server: tuple[str, int]) -> None:
    slow = "void kernel(const float* x, int* out) { for (volatile int i = 0;; i++) ; }"
    order = Order(problem="argmax", source=slow, effort=Effort.model_validate(TINY | {"call_seconds": 50}))
    asked = iter([None] * 3)

    def check() -> None:
        if next(asked, "stop"):
            raise KeyboardInterrupt

    with Servers(server[0]) as servers, pytest.raises(KeyboardInterrupt):
        judge_remotely(servers, order, patience=20, check=check)

    deadline = time.monotonic() + 30
    while http.get("/status").json()["device_status"]["cpu:0"] == "busy" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert http.get("/jobs").json()["completed_jobs"][-1]["error"] == "It was cancelled."


def _kill_at_work(address: str, pid: int, killed: list[str]) -> None:
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as http:
        while (state := http.get("/status").json()["device_status"]["cpu:0"]) != "busy":
            time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    killed.append(state)


def _cancel(address: str, job: str) -> None:
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as http:
        http.post(f"/job/{job}/cancel")


def test_building_has_a_limit_of_its_own_unless_the_request_says_one() -> None:
    asked = {"custom_cuda": "class ModelNew: ...", "ref_arch_src": "class Model: ..."}

    assert Submission.model_validate(asked).order().effort.compile_seconds == 240
    assert Submission.model_validate(asked).order(build_seconds=500).effort.compile_seconds == 500
    own = Submission.model_validate(asked | {"effort": {"compile_seconds": 9}})
    assert own.order(build_seconds=500).effort.compile_seconds == 9


@pytest.mark.heavy("kernels")
def test_of_several_servers_the_idle_one_is_asked_and_one_that_dies_is_left() -> None:
    slow = "void kernel(const float* x, int* out) { for (volatile int i = 0;; i++) ; }"
    body = {"problem": "argmax", "custom_cuda": slow, "timeout": 100, "effort": TINY | {"call_seconds": 50}}
    with serving() as (one, pid), serving() as (other, _), Servers(f"{one}, {other}") as servers:
        with httpx.Client(base_url=one, timeout=60, trust_env=False) as http:
            job = http.post("/evaluate", json=body).json()["job_id"]
            assert judge_remotely(servers, ORDER, patience=20).correct
            assert http.get("/status").json()["queue_info"]["completed_jobs"] == 0
            http.post(f"/job/{job}/cancel")
        with httpx.Client(base_url=other, timeout=60, trust_env=False) as http:
            busy = http.post("/evaluate", json=body).json()["job_id"]
        held = Order(problem="argmax", source=slow, effort=Effort.model_validate(TINY | {"call_seconds": 8}))
        killed = list[str]()
        killer = threading.Thread(target=_kill_at_work, args=(one, pid, killed))
        killer.start()
        verdict = judge_remotely(servers, held, patience=400, check=lambda: _cancel(other, busy) if killed else None)
        killer.join()
        with httpx.Client(base_url=other, timeout=60, trust_env=False) as http:
            ended = {job["job_id"] for job in http.get("/jobs").json()["completed_jobs"]}
    assert killed == ["busy"]  # in the middle of the job, which the other server then had
    assert len(ended - {busy}) == 2
    assert verdict.status == "timeout"


def test_a_module_is_told_by_its_code_its_level_or_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "7_Thing.py").write_text(MODULE)
    monkeypatch.setattr(SETTINGS, "own", tmp_path)

    def asked(**body: Any) -> Order:
        return Submission.model_validate({"custom_cuda": "x", **body}).order()

    assert asked(problem_id=3, sample_id=0, level=2, ref_arch_src=MODULE).reference == MODULE
    assert asked(problem_id=7, level=1, ref_arch_src="").reference == MODULE
    assert asked(problem_id=7, level=None, ref_arch_src=MODULE, custom_cuda="load_inline(").backend == "cpp"
    assert asked(problem="numba/gelu") == Order(problem="gelu", backend="numba", source="x")
    for body, words in (
        ({"problem_id": 8, "level": 1}, "holds no level 1, problem 8"),
        ({"problem_id": 7, "level": 1, "profile": "cpu"}, "no sizes for a CPU"),
        ({"problem_id": 1, "ref_arch_src": "def f(): ..."}, "no `class Model`"),
        ({"problem_id": 1, "level": 5}, "no such problem"),
    ):
        with pytest.raises(ValueError, match=words):
            asked(**body)
    monkeypatch.setattr(SETTINGS, "own", None)
    monkeypatch.delenv("KERNELBENCH_ROOT", raising=False)
    with pytest.raises(ValueError, match="ref_arch_src"):
        asked(problem_id=7, level=1)


@pytest.mark.parametrize(
    "order",
    [ORDER, Order(problem="gelu", backend="numba", source="x"), Order(reference=MODULE, backend="cpp", source="x")],
)
def test_what_is_sent_is_what_is_asked(order: Order) -> None:
    assert Submission.model_validate(sent(order)).order() == order


@pytest.mark.parametrize(
    ("source", "backend"),
    [
        ("import triton", "triton"),
        ("from torch.utils.cpp_extension import load_inline", "cpp"),
        ("import numba", "numba"),
        ("m = torch.compile(f)", "torch_compile"),
        ("import torch", "torch"),
    ],
)
def test_what_a_candidate_is_written_with_is_told_from_its_source(source: str, backend: str) -> None:
    assert told_backend(source) == backend


@needs_torch
@pytest.mark.heavy("kernels")
def test_a_module_is_judged_against_the_reference_that_is_sent(http: httpx.Client) -> None:
    new = MODULE.replace("class Model", "class ModelNew")
    body = {"problem_id": 19, "sample_id": 0, "level": 1, "ref_arch_src": MODULE, "timeout": 300, "effort": TINY}

    right = http.post("/evaluate_sync", json=body | {"custom_cuda": new}, timeout=300).json()
    wrong = http.post("/evaluate_sync", json=body | {"custom_cuda": new.replace("+ 1", "+ 2")}, timeout=300).json()

    assert right["status"] == "completed", right
    assert right["result"]["correctness"], right
    assert right["result"]["runtime"] > 0
    assert right["result"]["ref_runtime"] > 0
    assert not wrong["result"]["correctness"]
    assert "values are wrong" in wrong["result"]["metadata"]["text"]


@pytest.mark.heavy("kernels")
@pytest.mark.skipif(find_spec("transformers") is not None, reason="transformers is installed, and level 4 is judged")
def test_a_module_around_a_model_is_refused_in_words_where_transformers_is_not_installed(http: httpx.Client) -> None:
    code = "from transformers import AutoConfig, AutoModel\nclass Model: ...\nmodel_name = 'gpt2'\n"
    body = {"problem_id": 16, "custom_cuda": code, "level": 4, "ref_arch_src": code, "timeout": 100}

    answer = http.post("/evaluate_sync", json=body, timeout=100).json()

    assert answer["status"] == "failed"
    assert "pip install" in answer["error"]


@pytest.mark.heavy("kernels")
def test_the_client_brings_back_the_verdict(server: tuple[str, int]) -> None:
    with Servers(server[0]) as servers:
        verdict = judge_remotely(servers, ORDER, patience=20)
    assert verdict.correct
    assert verdict.score == verdict.metrics["speedup"]


class Replies:
    """What a misbehaving server says, by turns; the last for ever."""

    def __init__(self, *replies: tuple[int, str]) -> None:
        self.replies, self.asked = list(replies), 0

    def next(self) -> tuple[int, str]:
        self.asked += 1
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def saying(*replies: tuple[int, str]) -> Iterator[tuple[str, Replies]]:
    said = Replies(*replies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, text = said.next()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815 - the library looks it up by this name

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{listener.server_address[1]}", said
        listener.shutdown()
        thread.join()


DONE = json.dumps(
    {
        "status": "completed",
        "result": {
            "metadata": {"verdict": {"compiled": True, "correct": True, "text": "", "status": "ok", "score": 2.0}}
        },
    }
)


@pytest.mark.parametrize(
    "reply",
    [
        (500, "{}"),
        (200, "<html>"),
        (502, "<html>"),
        (200, "[]"),
        (404, "<html>"),
        (200, '{"status": "completed"}'),
        (200, '{"job_id": "a", "status": "completed"}'),
    ],
)
def test_a_server_that_answers_nonsense_leaves_nothing_measured(reply: tuple[int, str]) -> None:
    with saying(reply) as (address, said), Servers(address) as client, pytest.raises(NotMeasured, match="away"):
        judge_remotely(client, ORDER, patience=0.5)
    assert said.asked > 1


def test_a_server_that_cannot_be_reached_leaves_nothing_measured() -> None:
    with Servers("http://127.0.0.1:1") as client, pytest.raises(NotMeasured, match="away"):
        judge_remotely(client, ORDER, patience=0.5)


def test_a_server_that_forgot_the_job_gets_it_anew() -> None:
    replies = [
        (200, '{"job_id": "a"}'),
        (503, "{}"),
        (404, '{"detail": "unknown"}'),
        (200, '{"job_id": "b"}'),
        (200, DONE),
    ]
    with saying(*replies) as (address, said), Servers(address) as client:
        assert judge_remotely(client, ORDER, patience=20).score == 2.0
    assert said.asked == len(replies)


def test_a_refusal_is_not_asked_again() -> None:
    with (
        saying((401, '{"detail": "no token"}')) as (address, said),
        Servers(address) as client,
        pytest.raises(NotMeasured, match="no token") as refused,
    ):
        judge_remotely(client, ORDER, patience=20)
    assert said.asked == 1
    assert not refused.value.retry


@pytest.mark.heavy("kernels")
@pytest.mark.timeout(900)
def test_96_submissions_of_8_clients_are_all_judged_in_order(sandbox: Sandbox) -> None:
    finished: dict[int, list[dict[str, Any]]] = {}

    def client(number: int, address: str) -> None:
        with httpx.Client(base_url=address, timeout=60, trust_env=False) as http:
            body = {"problem": "argmax", "custom_cuda": f"/* {number} */ {SOURCE}", "effort": TINY}
            jobs = [http.post("/evaluate", json=body).json()["job_id"] for _ in range(12)]
            finished[number] = [wait_for(http, job, "completed", "failed") for job in jobs]

    with serving() as (address, pid):
        threads = [threading.Thread(target=client, args=(number, address)) for number in range(8)]
        for thread in threads:
            thread.start()
        with httpx.Client(base_url=address, trust_env=False, timeout=60) as http:
            while http.get("/status").json()["queue_info"]["completed_jobs"] < 20:
                time.sleep(0.1)
        for worker in workers(pid):
            os.kill(worker, signal.SIGKILL)
        for thread in threads:
            thread.join()
    states = [state for client_states in finished.values() for state in client_states]
    assert len(states) == 96
    assert all(state["status"] == "completed" and state["result"]["correctness"] for state in states)
    for own in finished.values():
        starts = [state["started_at"] for state in own]
        assert starts == sorted(starts)
