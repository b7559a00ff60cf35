"""A run as other processes see it: found, told things, refused to strangers, and leaving nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests import warm
from tests.engine.test_resume import processes_of, wait_for
from tests.whole import HEAVY, cells

from tracebench_core.errors import RunDirError, UsageError
from tracebench_core.specs import JobResult
from tracebench_engine.door.control_registry import control_folder, entries
from tracebench_engine.job.kernel import descendants
from tracebench_engine.run.control_channel import ControlServer, Peer, ask
from tracebench_engine.run.control_find import LiveRun, live_runs, tell
from tracebench_runs.check.fsck import check_run
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.storage.layout import RunLayout

from .conftest import LAB

NOBODY = 65534
CONFIG = """
tasks: ["lab:fine"]
trainers: [{trainers}]
seeds: [1, 2, 3]
max_workers: 2
run_id: r
runs_dir: {runs}
"""
STRANGER = """
import os, socket, sys
os.setgid({uid}); os.setuid({uid})
with socket.socket(socket.AF_UNIX) as s:
    try:
        s.connect({address!r})
        print(s.makefile().readline())
    except PermissionError as err:
        print("closed")
"""

Start = Callable[..., warm.Started]


pytestmark = pytest.mark.usefixtures("runtime_dir")


@pytest.fixture
def start(install_plugin: Callable[..., None], tmp_path: Path) -> Iterator[Start]:
    """Start a run of the lab in a process of its own; what is left of it ends with the test."""
    install_plugin("lab", LAB)
    started: list[warm.Started] = []

    def run(*trainers: str) -> warm.Started:
        path = tmp_path / "config.yaml"
        path.write_text(CONFIG.format(trainers=", ".join(trainers), runs=tmp_path / "runs"))
        process = warm.start("run", "--config", str(path))
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r"


def found(run_dir: Path) -> LiveRun | None:
    return next((run for run in live_runs(run_dir.parent) if run.run_dir == str(run_dir)), None)


def wait_running(run_dir: Path, jobs: int, done: int = 0) -> LiveRun:
    """Wait until so many jobs run, have found something, and so many are done."""

    def is_so() -> bool:
        run = found(run_dir)
        if run is None or len(run.running) != jobs or run.done != done:
            return False
        logs = [RunLayout(run_dir).job(job_id).events for job_id in run.running]
        return all(log.exists() and '"best"' in log.read_text() for log in logs)

    wait_for(is_so)
    run = found(run_dir)
    assert run is not None
    return run


def results(run_dir: Path) -> dict[str, JobResult]:
    return {p.parent.name: JobResult.model_validate_json(p.read_text()) for p in run_dir.glob("jobs/*/results.json")}


def control_log(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_dir / "control.jsonl").read_text().splitlines()]


def test_a_cancelled_job_keeps_its_best_and_its_reason_and_the_run_goes_on(start: Start, run_dir: Path) -> None:
    process = start("sleeps")
    run = wait_running(run_dir, jobs=2)
    victim = run.running[0]
    tell(run_dir, {"do": "cancel", "job": victim, "reason": "too slow"})
    later = wait_running(run_dir, jobs=2, done=1)

    result = results(run_dir)[victim]
    assert (result.status, result.stop_reason) == ("cancelled", "cancelled: too slow")
    assert result.best_candidate == "c1"
    assert (run_dir / "jobs" / victim / "artifacts" / "best_state.yaml").read_text() == "x: 1.0\n"
    assert result.used.evaluations == 1
    assert victim not in later.running
    assert (later.jobs, process.poll()) == (3, None)
    line = control_log(run_dir)[0]
    assert (line["action"], line["job"], line["reason"]) == ("cancel", victim, "too slow")
    assert (line["by"]["uid"], line["by"]["pid"]) == (os.getuid(), os.getpid())
    with pytest.raises(UsageError, match="ended already"):
        tell(run_dir, {"do": "cancel", "job": victim, "reason": "again"})


def test_a_job_can_be_cancelled_before_it_starts(start: Start, run_dir: Path) -> None:
    start("sleeps")
    run = wait_running(run_dir, jobs=2)
    planned = [json.loads(line)["job_id"] for line in _manifest_jobs(run_dir)]
    waiting = next(job_id for job_id in planned if job_id not in run.running)
    tell(run_dir, {"do": "cancel", "job": waiting, "reason": "not needed"})
    for job_id in run.running:
        tell(run_dir, {"do": "cancel", "job": job_id, "reason": "nor this"})
    wait_for(lambda: len(results(run_dir)) == 3 and found(run_dir) is None)

    assert results(run_dir)[waiting].stop_reason == "cancelled: not needed"
    assert [type(e).__name__ for e in read_events(RunLayout(run_dir).job(waiting)).events] == ["JobFinished"]
    assert check_run(run_dir) == []


def _manifest_jobs(run_dir: Path) -> list[str]:
    lines = (run_dir / "meta" / "manifest.json").read_text().splitlines()
    return [line.strip().rstrip(",") for line in lines if line.strip().startswith('{"job_id"')]


def test_a_paused_run_starts_nothing_and_records_what_ends(start: Start, run_dir: Path) -> None:
    start("sleeps")
    run = wait_running(run_dir, jobs=2)
    assert tell(run_dir, {"do": "pause"})["changed"]
    assert not tell(run_dir, {"do": "pause"})["changed"]
    for job_id in run.running:
        tell(run_dir, {"do": "cancel", "job": job_id, "reason": "make room"})
    wait_for(lambda: len(results(run_dir)) == 2)
    paused = wait_running(run_dir, jobs=0, done=2)
    assert paused.state == "paused"
    assert len(list((run_dir / "jobs").iterdir())) == 2

    assert tell(run_dir, {"do": "unpause"})["changed"]
    assert wait_running(run_dir, jobs=1, done=2).state == "running"
    assert [line["action"] for line in control_log(run_dir)] == ["pause", "cancel", "cancel", "unpause"]


@pytest.mark.parametrize("paused", [pytest.param(False, marks=HEAVY), True])
def test_a_cancelled_run_ends_like_ctrl_c_with_the_reason(start: Start, run_dir: Path, paused: bool) -> None:
    process = start("sleeps")
    wait_running(run_dir, jobs=2)
    if paused:
        tell(run_dir, {"do": "pause"})
    tell(run_dir, {"do": "cancel", "reason": "wrong config"})
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "wrong config" in out
    assert "trace-bench resume" in err
    assert json.loads((run_dir / "summary.json").read_text())["counts"]["not_run"] == 3
    assert processes_of(run_dir) == []
    assert list(entries()) == []
    assert check_run(run_dir) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=HEAVY)])
def test_a_signal_to_the_runner_leaves_no_process_and_no_entry(
    start: Start, run_dir: Path, sent: signal.Signals
) -> None:
    process = start("sleeps")
    wait_running(run_dir, jobs=2)
    process.send_signal(sent)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert processes_of(run_dir) == []
    assert not any(control_folder().iterdir())


@pytest.mark.parametrize("sent", [pytest.param(signal.SIGINT, marks=HEAVY), signal.SIGTERM])
def test_a_signal_to_a_job_ends_that_job_and_the_run_goes_on(start: Start, run_dir: Path, sent: signal.Signals) -> None:
    process = start("sleeps")
    run = wait_running(run_dir, jobs=2)
    victim = run.running[0]
    os.kill(_process_in(run_dir / "jobs" / victim), sent)
    wait_running(run_dir, jobs=2, done=1)

    assert results(run_dir)[victim].status == "failed"
    assert results(run_dir)[victim].best_candidate == "c1"
    assert process.poll() is None


@pytest.mark.parametrize("sent", [pytest.param(signal.SIGINT, marks=HEAVY), signal.SIGTERM])
def test_a_signal_to_the_template_costs_its_jobs_another_start_and_no_more(
    start: Start, run_dir: Path, sent: signal.Signals
) -> None:
    process = start("sleeps")
    before = wait_running(run_dir, jobs=2)
    os.kill(_template_of(process.pid), sent)
    wait_for(lambda: (now := found(run_dir)) is not None and set(now.running) - set(before.running) != set())
    after = found(run_dir)
    tell(run_dir, {"do": "cancel", "reason": "seen enough"})
    process.communicate(timeout=60)

    assert after is not None
    assert len(after.running) <= 2
    assert process.returncode == 130
    assert processes_of(run_dir) == []


def _template_of(runner: int) -> int:
    children = (Path(f"/proc/{runner}/task/{runner}/children")).read_text().split()
    return next(int(pid) for pid in children if "template_main" in Path(f"/proc/{pid}/cmdline").read_text())


def _process_in(folder: Path) -> int:
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if (proc / "cwd").resolve().is_relative_to(folder):
                return int(proc.name)
        except OSError:
            continue
    raise AssertionError(f"no process in {folder}")


def test_a_killed_runner_is_not_under_way_and_its_run_can_be_told_so(start: Start, run_dir: Path) -> None:
    process = start("sleeps")
    wait_running(run_dir, jobs=2)
    process.kill()
    process.communicate()
    wait_for(lambda: found(run_dir) is None)

    assert list(entries()) == []
    with pytest.raises(UsageError, match="not under way"):
        tell(run_dir, {"do": "pause"})


def test_a_run_is_found_by_its_lock_where_its_entry_is_elsewhere(
    start: Start, run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start("sleeps")
    wait_running(run_dir, jobs=2)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    run = found(run_dir)

    assert run is not None
    assert (run.pid, run.jobs, run.state) == (process.pid, 3, "unreachable")
    with pytest.raises(UsageError, match="does not answer"):
        tell(run_dir, {"do": "pause"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_that_another_user_took_first_is_told_with_a_mend_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    squatted = tmp_path / f"trace-bench-{os.geteuid()}"
    squatted.mkdir()
    os.chown(squatted, 65534, 65534)
    with pytest.raises(RunDirError, match="not a folder of this user alone") as caught:
        control_folder()
    with tempfile.TemporaryDirectory(dir="/tmp") as home:  # short, as homes are
        monkeypatch.setenv("HOME", home)
        told = subprocess.check_output(["sh", "-c", f"{caught.value.hint}; echo $XDG_RUNTIME_DIR"], text=True).strip()
        monkeypatch.setenv("XDG_RUNTIME_DIR", told)
        assert control_folder().is_relative_to(Path(home, ".trace-bench"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_where_the_folder_lets_him_in(runtime_dir: Path) -> None:
    asked: list[Mapping[str, Any]] = []
    address = control_folder() / "one.sock"

    def answer(request: dict[str, Any], peer: Peer) -> dict[str, Any]:
        asked.append(request)
        return {"ok": True, "uid": peer.uid}

    with ControlServer(address, answer):
        behind_the_door = _as_stranger(address)
        for folder in [address, *address.parents]:
            folder.chmod(folder.stat().st_mode | 0o777) if folder.is_relative_to(runtime_dir) else None
        let_in = json.loads(_as_stranger(address))
        mine = ask(str(address), {"do": "status"})

    assert behind_the_door == "closed"
    assert let_in == {"ok": False, "error": "this run belongs to another user"}
    assert mine == {"ok": True, "uid": 0}
    assert asked == [{"do": "status"}]


def _as_stranger(address: Path) -> str:
    script = STRANGER.format(uid=NOBODY, address=str(address))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_folder_that_others_may_look_into_is_closed_and_one_they_may_write_to_is_not_used() -> None:
    control_folder().chmod(0o755)
    assert control_folder().stat().st_mode & 0o777 == 0o700

    control_folder().chmod(0o777)
    with pytest.raises(RunDirError, match="not a folder of this user alone"):
        control_folder()


NONSENSE = (
    b"",
    b"garbage\n",
    b"[]\n",
    b'{"do": "format the disk"}\n',
    b"x" * 200_000,
    b'{"do": "cancel"}\n',
    b"\xff\xfe\n",
)


@pytest.mark.parametrize("sent", cells(zip(NONSENSE, strict=True), always=[(NONSENSE[3],), (NONSENSE[4],)]))
def test_nonsense_does_not_close_the_channel(start: Start, run_dir: Path, sent: bytes) -> None:
    start("sleeps")
    wait_running(run_dir, jobs=2)
    entry = next(iter(entries()))
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(entry.address)
        stranger.settimeout(10)
        try:
            stranger.sendall(sent)
            stranger.shutdown(socket.SHUT_WR)
            stranger.recv(1 << 16)
        except OSError:
            pass

    assert ask(entry.address, {"do": "status"})["state"] == "running"
    assert not (run_dir / "control.jsonl").exists()


def test_a_cancelled_job_whose_template_is_killed_is_cancelled_with_what_it_had_found(
    start: Start, run_dir: Path
) -> None:
    """The job ignores that it is to end; before its grace is over, the process that holds it is killed."""
    process = start("hangs")
    run = wait_running(run_dir, jobs=2)
    victim = run.running[0]
    tell(run_dir, {"do": "cancel", "job": victim, "reason": "too slow"})
    for template in _templates(process.pid):
        os.kill(template, signal.SIGKILL)
    wait_for(lambda: victim in results(run_dir))  # though another job goes on
    assert found(run_dir) is not None

    result = results(run_dir)[victim]
    assert (result.status, result.stop_reason) == ("cancelled", "cancelled: too slow")
    assert (result.best_candidate, result.used.evaluations) == ("c1", 1)


def _templates(runner: int) -> list[int]:
    told = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(runner)}
    return [pid for pid, words in told.items() if b"tracebench_engine.builtin.template_main" in words]
