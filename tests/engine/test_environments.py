"""Environments are opened at their first use and closed by a process that outlives jobs and runner."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import warm
from tests.crash.processes import bearers, tree
from tests.whole import HEAVY, SOAK, one_in

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs import ExecutorSetting
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.measure.environments import client

PLUGIN = """
import http.server, json, os, pathlib, threading, time, urllib.request
from tracebench_core.contracts import NotMeasured
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

DIARY = pathlib.Path(os.environ["DIARY"])

def note(*words):
    with DIARY.open("a") as diary:
        diary.write(" ".join(words) + "\\n")

class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.02)
        self.send_response(200); self.end_headers(); self.wfile.write(b"7")
    def log_message(self, *_): pass

class Service:
    def open(self, context):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        note("open", "service", str(context.job_id))
        return f"http://127.0.0.1:{self.server.server_port}"
    def close(self):
        self.server.shutdown(); self.server.server_close()
        note("close", "service")

class Tool:
    def __init__(self, *, offset): self.offset = offset
    def open(self, context):
        if self.offset < 0: raise RuntimeError("no such tool")
        (context.workdir / "table").write_text(str(self.offset))
        note("open", "tool")
        return {"table": str(context.workdir / "table")}
    def close(self): note("close", "tool")
    def reclaim(self, handle): note("reclaim", "tool")

class Task:
    objective = "up"
    parameters = [Parameter(name="x", initial=1.0, kind="number")]
    splits = {"train": [Example(id="a"), Example(id="b")]}
    def __init__(self, offset=5, wait=0.0): self.offset, self.wait = offset, wait
    def run(self, values, example, context):
        base = float(urllib.request.urlopen(context.environment("service")).read())
        table = context.environment("tool", offset=self.offset)["table"]
        time.sleep(self.wait)
        return base + float(pathlib.Path(table).read_text()) + values["x"]
    def guide(self, example, output, context): return Feedback(score=output)
    def close(self): note("close", "task")

def build(): return Task()
def build_broken(): return Task(offset=-1)
def build_waiting(): return Task(wait=60)
def build_slow(): return Task(wait=0.3)

class Bomb:
    def open(self, context): os._exit(9)
    def close(self): pass

class Bombed(Task):
    def run(self, values, example, context):
        context.environment("bomb")
        return 1.0

def build_bombed(): return Bombed()

@hookimpl
def tracebench_environments():
    return [EnvironmentSpec(name="service", kind="server", scope="run", loader="fake_house:Service"),
            EnvironmentSpec(name="tool", kind="folder", scope="evaluation", loader="fake_house:Tool", capacity=1),
            EnvironmentSpec(name="bomb", kind="folder", scope="evaluation", loader="fake_house:Bomb")]

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"fake_house:build{s}", title=n, environments=("service", "tool", "bomb"))
            for n, s in (("fine", ""), ("broken", "_broken"), ("waiting", "_waiting"), ("slow", "_slow"), ("bombed", "_bombed"))]
"""


@pytest.fixture
def diary(install_plugin: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the plugin; its environments say there what they do."""
    path = tmp_path / "diary"
    monkeypatch.setenv("DIARY", str(path))
    install_plugin("house", PLUGIN)
    return path


def run(tmp_path: Path, task: str, *, force: bool = False) -> api.RunSummary:
    mapping = {"tasks": [{"id": f"house:{task}"}], "trainers": [{"id": "NoOp"}], "runs_dir": str(tmp_path / "runs")}
    return api.run(parse_config(mapping | {"run_id": "r"}), force=force, stream=io.StringIO())


def test_an_environment_of_the_run_is_opened_once_and_one_of_the_evaluation_each_time(
    diary: Path, tmp_path: Path
) -> None:
    summary = run(tmp_path, "fine")

    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.score_val_best) == ("ok", 13.0)
    lines = diary.read_text().splitlines()
    assert lines.count("open service None") == lines.count("close service") == 1
    assert lines.count("open tool") == lines.count("close tool") == 4
    assert lines.count("close task") == 2
    assert lines[-1] == "close service"


def test_one_that_does_not_open_leaves_nothing_measured_and_fails_the_job_with_words(
    diary: Path, tmp_path: Path
) -> None:
    summary = run(tmp_path, "broken")

    (result,) = api.load_run(summary.run_dir).results.values()
    assert (result.status, result.not_measured, result.score_val_best) == ("failed", 2, None)
    assert "RuntimeError: no such tool" in result.feedback


def test_a_task_is_evaluated_with_its_environments_without_a_run(diary: Path) -> None:
    assert [f.score for f in api.evaluate_task("house:fine", {"x": 2.0})] == [14.0, 14.0]
    assert diary.read_text().splitlines()[-2:] == ["close service", "close task"]


@pytest.mark.parametrize("whom", one_in(2, ["job", "runner"]))
def test_what_is_open_is_closed_when_a_process_is_killed(diary: Path, tmp_path: Path, whom: str) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"tasks: [{{id: 'house:waiting'}}]\ntrainers: [{{id: NoOp}}]\nruns_dir: {tmp_path / 'runs'}\n")
    runner = warm.start("run", "--config", str(config), says="nothing")
    try:
        _wait_for(lambda: diary.exists() and "open tool" in diary.read_text())
        os.kill(_child_in(tmp_path) if whom == "job" else runner.pid, signal.SIGKILL)
        _wait_for(lambda: "close tool" in diary.read_text())
        if whom == "runner":
            _wait_for(lambda: "close service" in diary.read_text())
    finally:
        runner.kill()
        runner.wait()
        _wait_for(lambda: "close service" in diary.read_text())


def test_what_a_killed_supervisor_left_is_reclaimed_by_the_next(diary: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, "fine")
    left = {"opened": 1, "name": "tool", "options": {"offset": 5}, "handle": {"table": "x"}}
    (summary.run_dir / "environments.jsonl").write_text(json.dumps(left) + "\n{torn")

    run(tmp_path, "fine", force=True)

    assert "reclaim tool" in diary.read_text().splitlines()


@pytest.mark.parametrize("how", one_in(2, [signal.SIGKILL, signal.SIGTERM]))
def test_what_holds_environments_is_started_again_in_the_run_and_its_jobs_are_run_again(
    diary: Path, tmp_path: Path, how: signal.Signals
) -> None:
    runs = tmp_path / "runs"
    config = tmp_path / "c.yaml"
    settings = "trainers: [{id: NoOp}]\nseeds: [0, 1, 2, 3]\nmax_workers: 2\nrun_id: r\n"
    config.write_text(f"tasks: [{{id: 'house:slow'}}]\n{settings}runs_dir: {runs}\n")
    runner = warm.start("run", "--config", str(config), says="at once")
    try:
        _wait_for(lambda: diary.exists() and "open tool" in diary.read_text())
        (holder,) = (pid for pid, kind in tree(runner.pid).items() if kind == "environments")
        os.kill(holder, how)
        said, _ = runner.communicate(timeout=120)
    finally:
        runner.kill()

    assert runner.returncode == 0, said
    found = api.load_run(runs / "r").results.values()
    assert {(result.status, result.score_val_best, result.not_measured) for result in found} == {("ok", 13.0, 0)}
    assert len(found) == 4
    lines = diary.read_text().splitlines()
    assert lines.count("open service None") == 2
    assert "reclaim tool" in lines
    assert "what it stood on died under it" in said
    assert not bearers(str(runs))


@pytest.mark.parametrize("workers", [pytest.param(2, marks=HEAVY), pytest.param(1, marks=SOAK)])
def test_one_that_ends_what_holds_it_fails_its_job_with_words_and_the_others_get_a_new_one(
    diary: Path, tmp_path: Path, workers: int
) -> None:
    mapping = {"tasks": ["house:bombed", "house:fine"], "trainers": ["NoOp"], "max_workers": workers}
    summary = api.run(parse_config({**mapping, "runs_dir": str(tmp_path / "runs")}), stream=io.StringIO())

    bombed, fine = sorted(api.load_run(summary.run_dir).results.values(), key=lambda result: result.task_id)
    assert (bombed.status, bombed.score_val_best, fine.status, fine.score_val_best) == ("failed", None, "ok", 13.0)
    assert "ended under it 4 times, and it may be the job that ends it" in bombed.feedback


def test_a_folder_for_temporary_files_may_lie_deeper_than_a_socket_can(
    diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 50) / ("e" * 50)
    deep.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    process = client.EnvironmentProcess(
        ExecutorSetting(run_dir=str(tmp_path), environ={**os.environ, "TMPDIR": str(deep)}, load=("house",))
    )
    folder = Path(process.address).parent
    leases = client.JobEnvironments(process.address, names=["service"], job_id="j", seed=0)
    assert leases.lease("service", {}).handle.startswith("http://127.0.0.1")
    leases.close()
    process.close()
    assert not folder.exists()


def test_one_that_nobody_starts_again_is_waited_for_once_and_told(
    diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ABSENT_SECONDS", 2.0)
    process = client.EnvironmentProcess(
        ExecutorSetting(run_dir=str(tmp_path), environ=dict(os.environ), load=("house",))
    )
    leases = client.JobEnvironments(process.address, names=["service"], job_id="j", seed=0)
    assert leases.lease("service", {}).handle.startswith("http://127.0.0.1")
    assert process._process is not None
    os.kill(process._process.pid, signal.SIGKILL)
    _wait_for(lambda: not process.is_alive())

    for _ in range(40):  # more than a minute if each of them waited
        with pytest.raises(NotMeasured, match="cannot be reached"):
            leases.lease("service", {})
    process.restart()
    assert leases.lease("service", {}).handle.startswith("http://127.0.0.1")
    leases.close()
    process.close()
    process.close()
    assert diary.read_text().splitlines().count("open service None") == 2


def test_one_that_is_held_closes_at_the_end_and_one_that_does_not_is_told(
    diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client, "CLOSE_SECONDS", 8.0)
    process = client.EnvironmentProcess(
        ExecutorSetting(run_dir=str(tmp_path), environ=dict(os.environ), load=("house",))
    )
    leases = client.JobEnvironments(process.address, names=["service"], job_id="j", seed=0)
    leases.lease("service", {})
    leases.close()
    assert process._process is not None
    os.kill(process._process.pid, signal.SIGSTOP)
    process.close()
    assert diary.read_text().split() == ["open", "service", "None", "close", "service"]

    monkeypatch.setattr(client, "QUIET_SECONDS", 0.0)
    client.EnvironmentProcess(ExecutorSetting(run_dir=str(tmp_path), environ=dict(os.environ), load=("house",))).close()
    assert "environments are closing; they are waited for, up to 8 s" in caplog.text


def _child_in(tmp_path: Path) -> int:
    """Return the process whose working folder is a job's."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(tmp_path / "runs") in str((entry / "cwd").readlink()):
                return int(entry.name)
        except OSError:
            continue
    raise AssertionError("there is no job")


def _wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.05)
