"""A Harbor job as a process: real processes, no Harbor needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import is_alive

from tracebench_terminalbench.launch import harbor_environ, run_job


def program(folder: Path, body: str) -> str:
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\nimport os, pathlib, signal, subprocess, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


def until(condition: object, *, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
pathlib.Path("pids.tmp").write_text(f"{os.getpid()} {child.pid}")
os.rename("pids.tmp", "pids")
time.sleep(1000)
"""


def test_what_a_check_raises_ends_even_a_stubborn_job_and_its_children(tmp_path: Path) -> None:
    class SpentError(BaseException):
        pass

    def check() -> None:
        if (tmp_path / "pids").exists():
            raise SpentError

    with pytest.raises(SpentError):
        run_job(
            program(tmp_path, STUBBORN), {"job_name": "j"}, folder=tmp_path, environ=os.environ, grace=0.2, check=check
        )

    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    until(
        lambda: not any(is_alive(pid) for pid in pids), what="something of the job outlived it"
    )  # a kill takes a moment


def test_a_job_that_is_told_to_stop_may_clean_up(tmp_path: Path) -> None:
    body = """
def stop(*_):
    pathlib.Path("cleaned").write_text("yes")
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
pathlib.Path("ready").write_text("yes")
time.sleep(1000)
"""
    ended = run_job(
        program(tmp_path, body), {"job_name": "j"}, folder=tmp_path, environ=os.environ, seconds=3.0, grace=30.0
    )

    assert (ended.returncode, ended.out_of_time) == (130, True)
    assert (tmp_path / "cleaned").exists()


def test_a_job_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from tracebench_terminalbench.launch import run_job;"
        "run_job(sys.argv[1], {'job_name': 'j'}, folder=pathlib.Path(sys.argv[2]), environ=os.environ)"
    )
    runner = subprocess.Popen([sys.executable, "-c", code, program(tmp_path, STUBBORN), str(tmp_path)])
    until((tmp_path / "pids").exists, what="the job did not start")
    job, _ = (int(pid) for pid in (tmp_path / "pids").read_text().split())

    runner.send_signal(signal.SIGKILL)
    runner.wait()

    until(lambda: not is_alive(job), what="the job outlived its runner")


def test_what_a_job_prints_and_the_command_are_kept(tmp_path: Path) -> None:
    ended = run_job(
        program(tmp_path, "print(sys.argv[1:]); sys.exit(1)"),
        {"job_name": "j"},
        folder=tmp_path,
        environ=os.environ,
        env_file="/keys.env",
    )

    assert ended.returncode == 1
    assert not ended.folder.exists()
    assert ended.said == str(["run", "-c", str(tmp_path / "job.json"), "--yes", "--env-file", "/keys.env"])
    assert (tmp_path / "command.txt").read_text().endswith("job.json --yes --env-file /keys.env\n")


def test_no_key_of_ours_reaches_harbor() -> None:
    ours = {
        "PATH": "/bin",
        "HOME": "/h",
        "OPENAI_API_KEY": "sk-1",
        "DAYTONA_API_KEY": "d",
        "AWS_SECRET_ACCESS_KEY": "a",
        "PYTHONPATH": "/x",
    }

    given = harbor_environ(ours, extra={"LANG": "C"}, api_key="the-jobs-own")

    assert {"sk-1", "d", "a", "/x"}.isdisjoint(given.values())
    assert (given["OPENAI_API_KEY"], given["HARBOR_TELEMETRY"], given["LANG"]) == ("the-jobs-own", "0", "C")
    assert "OPENAI_API_KEY" not in harbor_environ(ours, extra={})
