"""A run's workers in Ray, with a small program in place of Ray's driver: what it is told, and what comes of its words."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError
from tracebench_core.specs import ExecutorSetting, Resources, RunConfig
from tracebench_ray import placement
from tracebench_ray.executor import RayExecutor
from tracebench_ray.options import Options, outlook, ready
from tracebench_ray.placement import HERE, Holder, RayWorkers, asked_of
from tracebench_ray.words import Asked, Cluster, Order
from tracebench_workers.ticket import Ticket

CLUSTER = {"nodes": 2, "largest": {"CPU": 4.0}, "total": {"CPU": 6.0}, "places": 3}
DRIVER = """
import json, os, sys
home = os.path.dirname(os.path.abspath(__file__))
def note(what):
    with open(f"{home}/heard", "a") as file:
        file.write(json.dumps(what) + "\\n")
note({"argv": sys.argv[1:], "environ": dict(os.environ), "sid": os.getsid(0) == os.getpid()})
print("a driver's own words", file=sys.stderr, flush=True)
note(json.loads(sys.stdin.readline()))
for line in open(f"{home}/says").read().splitlines():
    print(line.strip(), flush=True)
"""
STAYS = """
for line in sys.stdin:
    note(line.strip())
    if line.strip() == "leave":
        break
    print(json.dumps({"ended": "after " + line.strip()}), flush=True)
"""


LAST_WORDS = """
import time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.01)
    time.sleep(0.3)
    print(json.dumps({"ended": "of the first"}), flush=True)
"""


class Driver:
    """The program's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def says(self, *lines: dict[str, Any], code: str = DRIVER + STAYS) -> None:
        """Have the next one say so."""
        (self.folder / "says").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (self.folder / "driver.py").write_text(code)

    def heard(self) -> list[Any]:
        """Return what it was given: its start, the order, further lines; of all that were started."""
        return [json.loads(line) for line in (self.folder / "heard").read_text().splitlines()]


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    home = tmp_path / "driver"
    (home / "path/ray").mkdir(parents=True)
    (home / "path/ray/__init__.py").write_text("raise ImportError('nobody imports it here')")
    monkeypatch.syspath_prepend(home / "path")
    program = home / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {home}/driver.py "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    made = Driver(home)
    made.says({"cluster": CLUSTER})
    return made


def order(**more: Any) -> Order:
    return Order.model_validate({"number": 2, "asked": Asked(cpus=1), "folder": "/f", **more})


def setting(tmp_path: Path, **more: Any) -> ExecutorSetting:
    (tmp_path / "run").mkdir(exist_ok=True)
    return ExecutorSetting(
        run_dir=str(tmp_path / "run"), workers=2, environ={"PATH": os.environ["PATH"], "OURS": "1"}, **more
    )


def until(workers: RayWorkers, told: list[str], number: int) -> list[str]:
    """Look until so much was told."""
    while len(told) < number:
        told += workers.look()
    return told


def test_a_driver_is_started_in_a_session_of_its_own_with_a_key_of_this_run(driver: Driver, tmp_path: Path) -> None:
    first, second = (RayWorkers(order(), setting(tmp_path)) for _ in range(2))
    for workers in (first, second):
        workers.close()
        workers.close()

    starts = [line for line in driver.heard() if "argv" in line]
    assert starts[0]["argv"] == ["-P", "-m", "tracebench_ray"]
    assert starts[0]["sid"]
    environ = starts[0]["environ"]
    assert (environ["OURS"], environ["RAY_AUTH_MODE"], environ["RAY_DEDUP_LOGS"], environ["RAY_COLOR_PREFIX"]) == (
        "1",
        "token",
        "0",
        "0",
    )
    assert "HOME" not in environ
    keys = {start["environ"]["RAY_AUTH_TOKEN"] for start in starts}
    assert len(keys) == 2
    assert {len(key) for key in keys} == {64}
    assert json.loads(order().model_dump_json()) in driver.heard()
    assert "leave" in driver.heard()
    assert (tmp_path / "run/workers.log").read_text() == "a driver's own words\n" * 2


def test_a_cluster_that_is_named_is_reached_as_this_machine_reaches_it(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "theirs")
    monkeypatch.setenv("XRAY_", "no")
    RayWorkers(order(address="auto"), setting(tmp_path)).close()
    environ = driver.heard()[0]["environ"]
    assert (environ["RAY_AUTH_TOKEN"], environ.get("RAY_AUTH_MODE"), environ.get("XRAY_")) == ("theirs", None, None)


def test_what_there_is_is_asked_without_a_run(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_USER", "1")
    assert asked_of(order()) == Cluster.model_validate(CLUSTER)
    assert driver.heard()[0]["environ"]["OF_THE_USER"] == "1"
    assert driver.heard()[-1] == "leave"


def test_what_becomes_of_workers_is_told_and_those_that_are_gone_are_replaced(
    driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driver.says(
        {"cluster": CLUSTER}, {"waiting": 0}, {"waiting": 2}, {"waiting": 2}, {"waiting": 1}, {"waiting": 900}, {"waiting": 900},
        {"ended": "s1"}, {"gone": "a node died."},
    )  # fmt: skip
    workers = RayWorkers(order(), setting(tmp_path))
    try:
        with caplog.at_level(logging.WARNING):
            assert until(workers, [], 2) == ["s1", "after 1"]
    finally:
        workers.close()
    assert caplog.messages == [
        "2 workers wait for a place in Ray", "1 workers wait for a place in Ray", "900 workers wait for a place in Ray",
        "a node died. has ended: workers are placed anew",
    ]  # fmt: skip


def test_a_driver_that_died_is_started_anew(driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    driver.says({"cluster": CLUSTER}, code=DRIVER + LAST_WORDS)
    workers = RayWorkers(order(), setting(tmp_path))
    driver.says({"cluster": CLUSTER}, {"ended": "of the second"})
    try:
        with caplog.at_level(logging.WARNING):
            told: list[str] = []
            while "of the second" not in told:
                told += workers.look()
            assert told == ["of the first", "of the second"]
    finally:
        workers.close()
    assert caplog.messages == ["Ray, as this run sees it, has ended: workers are placed anew"]
    assert sum("argv" in line for line in driver.heard()) == 2


def test_workers_that_keep_ending_end_the_run_unless_a_job_ends_between(driver: Driver, tmp_path: Path) -> None:
    """Each place that is asked for is answered by a worker that is gone."""
    again = STAYS.replace('{"ended": "after " + line.strip()}', '{"gone": "no room.", "ended": "x"}')
    driver.says({"cluster": CLUSTER}, {"gone": "first."}, code=DRIVER + again)
    workers = RayWorkers(order(), setting(tmp_path))
    try:
        until(workers, told := [], 2)
        workers.is_well()
        with pytest.raises(TraceBenchError) as caught:
            until(workers, told, 100)
    finally:
        workers.close()
    log = tmp_path / "run/workers.log"
    assert str(caught.value) == f"Workers in Ray keep ending; what they print is in `{log}`. The last: no room."
    assert caught.value.hint == f"cat {log}"
    assert len(told) == 2 + 4, "three times in a row, and the one that is too many"


def test_reasons_are_told_once_and_as_many_are_placed_as_are_gone(
    driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driver.says({"cluster": CLUSTER}, *({"gone": why} for why in ("b", "a", "b")), {"ended": "last"})
    workers = RayWorkers(order(), setting(tmp_path))
    while workers._holder._told.qsize() < 4:
        pass
    try:
        with caplog.at_level(logging.WARNING):
            assert until(workers, [], 2) == ["last", "after 3"]
    finally:
        workers.close()
    assert caplog.messages == ["b; a has ended: workers are placed anew"]


@pytest.mark.parametrize(
    ("address", "told", "kind", "hint"),
    [
        ("", {"refused": "no node has 9 GPUs"}, UsageError, HERE),
        ("auto", {"refused": "no node has 9 GPUs"}, UsageError, "ray status"),
        ("", {"absent": "no cluster"}, MissingRequirementError, HERE),
        ("h:1", {"absent": "no cluster"}, MissingRequirementError, "ray status"),
    ],
)
def test_a_cluster_that_refuses_is_told_with_what_helps(
    driver: Driver, address: str, told: dict[str, str], kind: type[TraceBenchError], hint: str
) -> None:
    driver.says({"waiting": 1}, told)
    with pytest.raises(kind) as caught:
        asked_of(order(address=address))
    assert (str(caught.value), caught.value.hint) == (next(iter(told.values())), hint)


def test_a_driver_that_ends_before_it_answers_is_told(driver: Driver) -> None:
    driver.says({"waiting": 1}, code=DRIVER)
    with pytest.raises(TraceBenchError, match=r"^Ray ended while it was asked for workers\.$") as caught:
        asked_of(order())
    assert (
        caught.value.hint
        == "run the jobs on this machine: -o executor=local, or trace-bench resume RUN --executor local"
    )


def test_a_driver_that_never_answers_is_given_up(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.says()
    monkeypatch.setattr(placement, "PATIENCE", 0.0)
    with pytest.raises(TraceBenchError, match=r"^Ray gave no answer for 0 s\.$"):
        asked_of(order())


def test_a_driver_that_does_not_leave_is_killed(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    driver.says({"cluster": CLUSTER}, code=f"{DRIVER}\nimport signal\nsignal.pause()")
    monkeypatch.setattr(placement, "LEAVING", 0.05)
    holder = Holder(order(), subprocess.DEVNULL)
    holder.cluster()
    assert not holder.is_dead
    with caplog.at_level(logging.WARNING):
        holder.close()
    assert holder._process.returncode == -9
    assert caplog.messages == ["Ray does not end workers of this run: ray list actors"]
    holder.place(1)
    assert [*holder.news()] == []


def test_an_executor_has_as_many_workers_placed_as_its_jobs_take(driver: Driver, tmp_path: Path) -> None:
    options = Options(jobs=2, address="h:1")
    given = setting(tmp_path, resources=Resources(cpus=1.5), root="/elsewhere").model_copy(update={"workers": 5})
    ticket = Ticket("h", 7, "token", "0" * 64)
    RayExecutor().place(ticket, given, options).close()
    told = driver.heard()[1]
    assert (told["number"], told["asked"]["cpus"], told["root"], told["ticket"], told["address"]) == (
        3, 3.0, "/elsewhere", str(ticket), "h:1",
    )  # fmt: skip
    assert RayExecutor().options(given) == Options()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            "9 workers in a Ray cluster of its own on this machine, 3 at a time, each with 1 processor and one job at a time",
        ),
        (
            {"grows": True},
            "9 workers in a Ray cluster of its own on this machine, each with 1 processor and one job at a time",
        ),
        (
            {"workers": 3, "jobs": 2, "address": "h:1"},
            "3 workers in the Ray cluster at h:1, each with 2 processors and 2 jobs at a time",
        ),
        (
            {"workers": 4, "address": "auto"},
            "4 workers in the Ray cluster at auto, 3 at a time, each with 1 processor and one job at a time",
        ),
    ],
)
def test_where_jobs_would_run_is_told(driver: Driver, options: dict[str, Any], words: str) -> None:
    config = RunConfig.model_validate(
        {
            "tasks": [{"id": "t:t"}],
            "trainers": [{"id": "T"}],
            "max_workers": 9,
            "plugins": {"options": {"ray": options}},
        }
    )
    ready(config, Resources())
    assert outlook(config, Resources()) == [f"{words}; it has 2 nodes with 6 processors"]
    assert driver.heard()[1]["ticket"] == ""
