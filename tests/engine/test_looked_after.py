"""Runs that look after themselves: an outage is waited for, failed jobs are run again, a run's cap pays for what is started."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.samples import job_spec

from tracebench_core.specs import Budget, BudgetState, JobResult, JobSpec, Usage
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.reserve import Reserve
from tracebench_runs.reading.reader import load_run
from tracebench_sandbox import temporary
from tracebench_testing.fake_openai import FakeOpenAI

REPLY = json.dumps({"reasoning": "closer", "values": {"x": 2.5}})
FAILS_ONCE = """
import pathlib, sys
import tracebench_client
problem = tracebench_client.connect()
problem.evaluate({"x": 1.0})
been = pathlib.Path(sys.argv[1])
if not been.exists():
    been.touch()
    sys.exit(3)
"""


SERVER = f"""
import sys, threading
from tracebench_testing.fake_openai import FakeOpenAI
with FakeOpenAI(port=int(sys.argv[1]), reply=lambda _: {REPLY!r}, delay=0.05) as server:
    print(server.base_url, flush=True)
    threading.Event().wait()
"""


class Server:
    """A server in a process of its own, which may be killed and started again at the same address."""

    def __init__(self) -> None:
        self._start(0)

    def _start(self, port: int) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def go_away_after(self, calls: int, ledger: Path, until: Callable[[], bool], *, seconds: float) -> threading.Thread:
        """Kill the server once the ledger has as many calls, and start it again when `until` says so, after `seconds` at the soonest."""

        def away() -> None:
            while not ledger.exists() or ledger.read_bytes().count(b'"llm_call"') < calls:
                threading.Event().wait(0.01)
            self.close()
            threading.Event().wait(seconds)
            while not until():
                threading.Event().wait(0.01)
            self._start(int(self.base_url.split(":")[2].partition("/")[0]))

        thread = threading.Thread(target=away, daemon=True)
        thread.start()
        return thread


def config(runs: Path, **fields: Any) -> Any:
    base = {
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 6}}],
        "runs_dir": str(runs),
        "run_id": "r",
    }
    return parse_config({**base, **fields})


@pytest.mark.parametrize("seconds", [0, pytest.param(20, marks=pytest.mark.heavy("record"))])
def test_an_outage_pauses_the_run_and_all_jobs_are_ok_afterwards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, seconds: int
) -> None:
    server = Server()
    llm = {"model": "fake", "base_url": server.base_url, "max_retries": 0}
    ledger = tmp_path / "r" / "llm" / "ledger.jsonl"
    gone = server.go_away_after(8, ledger, lambda: "is paused" in caplog.text, seconds=seconds)
    summary = api.run(config(tmp_path, mode="real", seeds=[1, 2, 3, 4], max_workers=2, llm=llm), stream=io.StringIO())
    gone.join()
    server.close()
    assert summary.counts == {"ok": 4}
    assert "does not answer any more: the run is paused" in caplog.text
    assert "is awaited no more: the run goes on" in caplog.text
    assert [result.model_errors for result in load_run(summary.run_dir).results.values()] == [0, 0, 0, 0]


def test_a_server_that_never_answered_is_not_waited_for(tmp_path: Path) -> None:
    with FakeOpenAI(reply=lambda _: REPLY) as server:
        url = server.base_url
    llm = {"model": "fake", "base_url": url, "max_retries": 0}
    assert api.run(config(tmp_path, mode="real", llm=llm), stream=io.StringIO()).counts != {"ok": 1}


@pytest.mark.parametrize(("types", "counts", "attempts"), [((), {"ok": 1}, 2), (("OtherError",), {"failed": 1}, 1)])
def test_a_failed_job_is_run_again(
    tmp_path: Path, types: tuple[str, ...], counts: dict[str, int], attempts: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAILS_ONCE)
    trainer = {"id": "Command", "params": {"argv": [sys.executable, str(program), str(tmp_path / "been")]}}
    retries = {"failed": 2, "error_types": list(types), "backoff": 0.01}
    summary = api.run(config(tmp_path / "runs", trainers=[trainer], retries=retries), stream=io.StringIO())
    assert summary.counts == counts
    (job,) = load_run(summary.run_dir).planned
    assert len(load_run(summary.run_dir).layout.job(job.job_id).earlier_attempts()) == attempts - 1


def test_what_a_runs_cap_lets_start_can_finish(tmp_path: Path) -> None:
    capped = config(tmp_path, seeds=[1, 2, 3, 4], max_workers=4, run_budget={"llm_calls": 13})
    summary = api.run(capped, stream=io.StringIO())
    assert (summary.counts, summary.exit_code) == ({"ok": 2, "not_run": 2}, 5)
    assert summary.stopped_by == "run budget:llm_calls"


def job(number: int, **fields: Any) -> JobSpec:
    return job_spec(**{"job_id": f"{number:012x}", "budget": Budget(), **fields})


def result(of: JobSpec, calls: int) -> JobResult:
    usage = {"optimizer": Usage(llm_calls=calls)}
    return JobResult(
        job_id=of.job_id, task_id=of.task_id, suite=of.suite, trainer_id=of.trainer_id, seed=of.seed, mode=of.mode,
        status="ok", stop_reason="completed", budget=of.budget, usage=usage, used=BudgetState(llm_calls=calls),
    )  # fmt: skip


def test_the_first_tells_what_the_others_cost() -> None:
    reserve = Reserve(Budget(llm_calls=20), {"llm_calls": 0})
    first, second, third, fourth = (job(n) for n in range(4))
    reserve.started(first)
    assert reserve.must_wait(second)
    reserve.ended(first, result(first, 6))
    assert (reserve.must_wait(second), reserve.beyond(second)) == (False, None)
    reserve.started(second)
    assert not reserve.must_wait(third)
    reserve.started(third)
    assert reserve.must_wait(fourth)
    reserve.ended(second, result(second, 6))
    reserve.ended(third, result(third, 6))
    assert reserve.beyond(fourth) == "llm_calls"
    assert reserve.beyond(job(5, budget=Budget(llm_calls=2))) is None


def test_folders_of_dead_processes_are_swept_and_no_others() -> None:
    make = (
        "import os; from tracebench_engine.api.programs import scratch_folder\n"
        "with scratch_folder('door') as folder: print(folder, flush=True); os.kill(os.getpid(), 9)"
    )
    dead = Path(
        subprocess.run([sys.executable, "-c", make], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    )
    mine = temporary.make_folder()
    strange = Path(tempfile.mkdtemp(prefix="trace-bench-"))
    try:
        assert dead in list(temporary.leftovers())
        temporary.sweep(lambda path: path.rmdir() if path == dead else None)
        assert (dead.exists(), mine.exists(), strange.exists()) == (False, True, True)
        assert not {mine, strange} & set(temporary.leftovers())
    finally:
        mine.rmdir()
        strange.rmdir()
