"""Workers that a run starts on its own machine: what each is told, and what becomes of those that die; small programs in their place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import ExecutorSetting
from tracebench_workers import own
from tracebench_workers.own import OwnWorkers
from tracebench_workers.ticket import Ticket

TICKET = Ticket("127.0.0.1", 7, "0" * 64, "token")
WORKER = """
import json, os, sys
print("its own words", flush=True)
print("and its errors", file=sys.stderr, flush=True)
told = {"argv": sys.argv[1:], "line": sys.stdin.readline(), "environ": dict(os.environ), "own": os.getsid(0) == os.getpid()}
place = os.path.join(os.environ["FOLDER"], str(os.getpid()))
with open(place + ".new", "w") as file:
    json.dump(told, file)
os.rename(place + ".new", place)
if os.path.exists(os.environ["FOLDER"] + "/die"):
    sys.exit(1)
sys.stdin.read()
if os.path.exists(os.environ["FOLDER"] + "/stay"):
    import signal
    signal.pause()
"""


class Started:
    """What the programs were told, in the order in which they were started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int) -> list[dict[str, Any]]:
        """Wait for so many, and return them."""
        while len(found := [path for path in self.folder.iterdir() if path.name.isdigit()]) < number:
            pass
        return [json.loads(path.read_text()) for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    (tmp_path / "told").mkdir()
    (tmp_path / "worker.py").write_text(WORKER)
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {tmp_path}/worker.py "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return Started(tmp_path / "told")


def setting(folder: Path, **more: Any) -> ExecutorSetting:
    return ExecutorSetting(run_dir=str(folder), environ={"FOLDER": str(folder / "told")}, **{"workers": 5, **more})


def test_jobs_are_spread_over_workers_that_know_the_run(started: Started, tmp_path: Path) -> None:
    workers = OwnWorkers(TICKET, setting(tmp_path, root="/tasks"), 2)
    try:
        told = started(2)
        assert [*workers.look()] == []
    finally:
        workers.close()
    for one in told:
        assert one["argv"] == ["-P", "-m", "tracebench_workers", "--own", "--jobs", "3", "--root", "/tasks"]
        assert one["own"]
        assert one["environ"]["FOLDER"] == str(tmp_path / "told")
        assert "HOME" not in one["environ"]
    sessions = [one["line"].removeprefix(f"{TICKET} ").strip() for one in told]
    assert len({*sessions}) == 2
    assert {len(session) for session in sessions} == {32}
    assert [process.returncode for process in workers._processes] == [0, 0]
    log = (tmp_path / "workers.log").read_text()
    assert (log.count("its own words\n"), log.count("and its errors\n")) == (2, 2)


@pytest.mark.parametrize(("most", "number", "jobs"), [(4, 2, "2"), (1, 1, "1"), (5, 1, "5")])
def test_each_takes_its_part_of_the_jobs(started: Started, tmp_path: Path, most: int, number: int, jobs: str) -> None:
    OwnWorkers(TICKET, setting(tmp_path, workers=most), number).close()
    assert [one["argv"] for one in started(number)] == [
        ["-P", "-m", "tracebench_workers", "--own", "--jobs", jobs]
    ] * number


def test_one_that_dies_is_started_again_and_told_by_its_session_until_that_does_not_help(
    started: Started, tmp_path: Path
) -> None:
    (tmp_path / "told/die").touch()
    workers = OwnWorkers(TICKET, setting(tmp_path), 1)
    gone: list[str] = []
    try:
        for number in (1, 2):
            workers._processes[0].wait()
            gone += workers.look()
            assert len(gone) == number
        workers.is_well()
        for _ in range(3):
            workers._processes[0].wait()
            gone += workers.look()
        workers._processes[0].wait()
        with pytest.raises(TraceBenchError, match=r"^The run's own workers keep ending\.$") as caught:
            list(workers.look())
    finally:
        workers.close()
    assert caught.value.hint == f"cat {tmp_path / 'workers.log'}"
    assert len(gone) == 2 + 3, "three times in a row, and no fourth"
    assert {one["line"].split()[1] for one in started(6)} > {*gone}
    assert len({*gone}) == 5


def test_one_that_does_not_leave_is_killed(started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "LEAVING", 0.05)
    (tmp_path / "told/stay").touch()
    workers = OwnWorkers(TICKET, setting(tmp_path), 1)
    started(1)
    workers.close()
    assert [process.returncode for process in workers._processes] == [-9]


class Late(Ticket):
    """A ticket that is told after a process of this one has ended."""

    def __str__(self) -> str:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return super().__str__()


def test_one_that_dies_before_it_is_told_anything_is_one_that_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    workers = OwnWorkers(Late("h", 1, "0" * 64, "t"), setting(tmp_path), 1)
    try:
        for _ in range(3):
            workers._processes[0].wait()
            assert len([*workers.look()]) == 1
        workers._processes[0].wait()
        with pytest.raises(TraceBenchError, match=r"^The run's own workers keep ending\.$"):
            list(workers.look())
    finally:
        workers.close()
