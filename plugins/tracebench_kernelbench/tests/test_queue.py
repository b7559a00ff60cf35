"""The queue of the evaluation server and its door, with workers that are a few lines of shell."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tracebench_core.errors import ProgramError
from tracebench_kernelbench.server import jobs as jobs_module
from tracebench_kernelbench.server.app import Door
from tracebench_kernelbench.server.environment import ServerEnvironment
from tracebench_kernelbench.server.jobs import Job, Jobs, QueueFullError

VERDICT = {"compiled": True, "correct": True, "text": "fine", "status": "ok", "score": 2.0}
TIMED = {"candidate_ms": 1.5, "reference_ms": 3.0, "noise": 0.1, "speedup_raw": 2.0, "other": 1.0}
ANSWERS = {
    "failed": {"error": "no disk"},
    "untimed": {"verdict": {**VERDICT, "metrics": {}}},
    "timed": {"verdict": {**VERDICT, "metrics": TIMED}},
}
WORKER = """#!/bin/sh
cd ${0%/*}
while read -r line; do
    case $line in
    *slow*) sleep 600 ;;
    *dies*) exit 1 ;;
    *once*) [ -f tried ] || { : >tried; exit 1; }; cat untimed ;;
    *garbled*) echo 'no json' ;;
    *fails*) cat failed ;;
    *) cat timed ;;
    esac
done
"""


@pytest.fixture(autouse=True)
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answer in ANSWERS.items():
        (tmp_path / name).write_text(json.dumps(answer) + "\n")
    (tmp_path / "worker").write_text(WORKER)
    (tmp_path / "worker").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "worker"))


@pytest.fixture
def queue() -> Iterator[Jobs]:
    opened = Jobs(["cpu:0"], most_waiting=2)
    yield opened
    opened.close()


def until(holds: Callable[[], object]) -> None:
    limit = time.monotonic() + 100
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.005)


def done(queue: Jobs, what: str, *, timeout: float = 100.0) -> Job:
    job = Job({"source": what}, timeout)
    queue.submit(job)
    until(lambda: job.completed_at is not None)
    return job


@pytest.mark.parametrize(
    ("what", "status", "error", "attempts"),
    [
        ("right", "completed", None, 1),
        ("fails", "failed", "no disk", 1),
        ("dies", "failed", "The worker died on this job 2 times.", 2),
        ("garbled", "failed", "The worker died on this job 2 times.", 2),
        ("once", "completed", None, 2),
    ],
)
def test_how_a_job_ends(what: str, status: str, error: str | None, attempts: int, queue: Jobs) -> None:
    job = done(queue, what)

    assert (job.status, job.error, job.attempts, job.device) == (status, error, attempts, "cpu:0")
    assert (job.verdict is None) == (status == "failed")
    assert job.queued_at <= (job.started_at or 0) <= (job.completed_at or 0)
    assert queue.get(job.id) is job
    assert queue.get("another") is None
    assert queue.counts() == {"queued_jobs": 0, "active_jobs": 0, "completed_jobs": 1}
    assert done(queue, "right").status == "completed", "a worker is there again"


def test_a_job_that_takes_too_long_is_ended_and_the_next_is_judged(queue: Jobs) -> None:
    job = done(queue, "slow", timeout=0.2)

    assert (job.status, job.error, job.attempts) == ("failed", "It took longer than 0.2 s.", 1)
    assert done(queue, "right").status == "completed"
    assert [one.id for one in queue.finished(1)] != [job.id]
    assert queue.finished(5)[0].id == job.id


def test_jobs_wait_in_order_so_many_of_them_and_are_cancelled_wherever_they_are(queue: Jobs) -> None:
    first, second, third = (Job({"source": what}, 600.0) for what in ("slow", "right", "fails"))
    queue.submit(first)
    until(lambda: first.status == "running" and queue.workers["cpu:0"].pid)
    queue.submit(second)
    queue.submit(third)
    with pytest.raises(QueueFullError):
        queue.submit(Job({}, 1.0))
    assert queue.counts() == {"queued_jobs": 2, "active_jobs": 1, "completed_jobs": 0}

    assert queue.cancel("another") is None
    assert queue.cancel(third.id) is third
    assert (third.status, third.error) == ("failed", "It was cancelled.")
    assert queue.cancel(first.id) is first
    until(lambda: second.completed_at)

    assert (first.status, first.error, first.attempts) == ("failed", "It was cancelled.", 1)
    assert second.status == "completed"
    assert queue.cancel(second.id) is second
    assert not second.cancelled, "it has ended"


def test_of_finished_jobs_the_oldest_are_forgotten(queue: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_KEPT", 2)

    jobs = [done(queue, "right") for _ in range(3)]

    assert [queue.get(job.id) for job in jobs] == [None, jobs[1], jobs[2]]
    assert queue.counts()["completed_jobs"] == 2


def test_a_worker_ends_with_its_queue() -> None:
    queue = Jobs(["cpu:0", "cpu:1"])
    assert [worker.pid for worker in queue.workers.values()] == [0, 0], "none is started before it is needed"
    job = Job({"source": "slow"}, 600.0)
    queue.submit(job)
    until(lambda: job.device is not None and queue.workers[job.device].pid)
    pid = queue.workers[str(job.device)].pid

    queue.close()

    assert not Path(f"/proc/{pid}").exists()
    assert [worker.pid for worker in queue.workers.values()] == [0, 0]


def asked(
    queue: Jobs, *requests: tuple[str, str, dict[str, Any]], token: str | None = None, host: str = "127.0.0.1"
) -> list[Any]:
    """Ask the door one after another; return status and body of each answer."""

    async def ask() -> list[Any]:
        transport = httpx.ASGITransport(Door(queue, token=token, build_seconds=77.0).app())
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as http:
            answers = [await http.request(method, path, **more) for method, path, more in requests]
            return [(answer.status_code, answer.json()) for answer in answers]

    return asyncio.run(ask())


def body(what: str = "right", **more: Any) -> dict[str, Any]:
    return {"json": {"problem": "argmax", "custom_cuda": what, **more}}


def test_who_waits_gets_the_result_in_the_fields_of_kernelbench(queue: Jobs) -> None:
    [(status, told), (_, failed), (_, untimed), (_, listed)] = asked(
        queue,
        ("POST", "/evaluate_sync", body()),
        ("POST", "/evaluate_sync", body("fails")),
        ("POST", "/evaluate_sync", body("once")),
        ("GET", "/jobs", {}),
    )

    assert (status, told["status"], told["device"]) == (200, "completed", "cpu:0")
    assert told["execution_time"] > 0
    verdict = {**VERDICT, "metrics": TIMED}
    assert told["result"] == {
        "compiled": True, "correctness": True, "metadata": {"text": "fine", "verdict": verdict}, "runtime": 1.5,
        "runtime_stats": {"candidate_ms": 1.5, "reference_ms": 3.0, "noise": 0.1, "speedup_raw": 2.0}, "ref_runtime": 3.0,
    }  # fmt: skip
    assert told["queued_at"] <= told["started_at"] <= told["completed_at"]
    assert (failed["status"], failed["error"], "result" in failed) == ("failed", "no disk", False)
    assert (untimed["result"]["runtime"], untimed["result"]["ref_runtime"], untimed["result"]["runtime_stats"]) == (
        -1.0,
        -1.0,
        {},
    )
    assert [job["status"] for job in listed["completed_jobs"]] == ["completed", "failed", "completed"]
    assert listed["active_jobs"] == []


def test_who_does_not_wait_asks_again_and_may_cancel(queue: Jobs) -> None:
    [(_, first)] = asked(queue, ("POST", "/evaluate", body("slow")))
    until(lambda: queue.counts()["active_jobs"])
    [(_, late), (_, status), (_, second), (_, third), (full, refused), (_, listed)] = asked(
        queue,
        ("POST", "/evaluate_sync", body(timeout=0.01)),
        ("GET", "/status", {}),
        ("POST", "/evaluate", body()),
        ("GET", f"/job/{first['job_id']}", {}),
        ("POST", "/evaluate", body()),
        ("GET", "/jobs", {}),
    )

    assert late["detail"].startswith("no result within 0.01 s; ask for job ")
    assert status == {
        "server_status": "running",
        "device_status": {"cpu:0": "busy"},
        "queue_info": {"queued_jobs": 1, "active_jobs": 1, "completed_jobs": 0, "available_devices": 0},
    }
    assert (first["status"], second["status"]) == ("queued", "queued")
    assert (third["status"], third["completed_at"]) == ("running", None)
    assert (full, refused) == (503, {"detail": "the queue is full"})
    assert [job["job_id"] for job in listed["active_jobs"]] == [first["job_id"]]
    [(_, cancelled), (missing, told), (unknown, _)] = asked(
        queue,
        ("POST", f"/job/{second['job_id']}/cancel", {}),
        ("POST", "/job/none/cancel", {}),
        ("GET", "/job/none", {}),
    )
    assert cancelled["error"] == "It was cancelled."
    assert (missing, told, unknown) == (404, {"detail": "there is no such job"}, 404)
    queue.cancel(first["job_id"])


def test_what_a_request_leaves_open_is_as_the_server_was_told(queue: Jobs) -> None:
    code = "class Model: pass"
    asked(queue, ("POST", "/evaluate_sync", body(ref_arch_src=code)), ("POST", "/evaluate_sync", body(timeout=9)))

    one, other = queue.finished(2)
    assert (one.order["effort"]["compile_seconds"], one.timeout) == (77.0, 300.0)
    assert (other.order["effort"]["compile_seconds"], other.timeout) == (30.0, 9.0)


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"content": "{}", "headers": {"content-type": "text/plain"}}, 400, "the body must be application/json"),
        ({"content": b" " * ((4 << 20) + 1), "headers": {"content-type": "application/json"}}, 413, "the body is larger than 4 MiB"),
        ({"content": b" " * (4 << 20), "headers": {"content-type": "application/json"}}, 422, ": Invalid JSON"),
        ({"json": {"custom_cuda": 3, "timeout": 0}}, 422, "custom_cuda: Input should be a valid string; timeout: Input should be"),
        (body(problem="nothing"), 422, "there is no such problem here"),
    ],
)  # fmt: skip
def test_a_body_that_is_none_is_refused(more: dict[str, Any], status: int, words: str, queue: Jobs) -> None:
    [(code, told)] = asked(queue, ("POST", "/evaluate", more))

    assert code == status
    assert words in told["detail"]


def test_who_may_ask(queue: Jobs) -> None:
    def ask(token: str | None, host: str, **headers: str) -> tuple[int, Any]:
        [(code, told)] = asked(queue, ("GET", "/", {"headers": headers}), token=token, host=host)
        return code, told.get("detail")

    assert ask(None, "localhost") == (200, None)
    assert ask(None, "example.org") == (403, "without a token, this server is asked by its loopback address")
    assert ask("é", "example.org", authorization="Bearer no") == (401, "the token is missing or wrong")
    assert ask("yes", "example.org") == (401, "the token is missing or wrong")
    assert ask("yes", "example.org", authorization="Bearer yes") == (200, None)


def test_a_run_has_a_server_of_its_own_or_is_told_why_not(tmp_path: Path) -> None:
    context: Any = SimpleNamespace(workdir=tmp_path)
    environment = ServerEnvironment()
    (tmp_path / "worker").write_text("#!/bin/sh\necho $@ >asked\necho server at http://127.0.0.1:5\nexec sleep 600\n")
    assert environment.open(context) == {"address": "http://127.0.0.1:5"}
    assert (tmp_path / "asked").read_text() == "-P -m tracebench_kernelbench.command serve --port 0\n"
    process = environment._process
    assert process is not None
    environment.close()
    assert process.returncode == -15
    environment.close()
    (tmp_path / "worker").write_text("#!/bin/sh\nprintf ' y%0500d \\n' 7 >&2\n")
    with pytest.raises(ProgramError) as told:
        environment.open(context)
    assert str(told.value) == f"The KernelBench server did not start: {'0' * 499}7"
    environment.close()
