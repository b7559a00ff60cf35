"""Runs on a real Ray: one of this machine's own, and one of two nodes that was there before; kills of what holds it up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_workers.tests.world import World
from tests.processes import has_ended

from tracebench_testing import ExecutorConformance

pytestmark = [
    pytest.mark.heavy("ray"),
    pytest.mark.skipif(find_spec("ray") is None, reason="no Ray: pip install 'tracebench-ray[ray]'"),
    pytest.mark.timeout(900),
]
RAY = ("-o", "executor=ray", "-o", "plugins.options.ray.lease=4")
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64}
NODE = ("--block", "--disable-usage-stats", "--include-log-monitor=false")


class TestRay(ExecutorConformance):
    plugin = "ray"

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 3, reason="it has three jobs at a time, each with a processor")
    def test_tb446(self) -> None:
        self.demand("TB446")


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for Ray's own files, whose name leaves room for those of its sockets."""
    with tempfile.TemporaryDirectory(prefix="r-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def world(tmp_path: Path, short: Path) -> Iterator[World]:
    made = World(tmp_path, environ={"TMPDIR": str(short)})
    yield made
    made.close()
    wait_for(lambda: not of_ray(short))


def of_ray(folder: Path) -> dict[int, str]:
    """Return what runs of a Ray whose files are in a folder."""
    found = {}
    for each in Path("/proc").iterdir():
        with suppress(OSError):
            words = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if each.name.isdigit() and f"{folder}/" in words and "ray" in words and int(each.name) != os.getpid():
                found[int(each.name)] = words
    return found


def raylets(folder: Path) -> list[int]:
    return [pid for pid, words in of_ray(folder).items() if "raylet/raylet" in words.split(" --")[0]]


def wait_for(condition: Callable[[], Any]) -> Any:
    until = time.monotonic() + 400
    while not (found := condition()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)
    return found


def test_a_ray_of_its_own_gives_the_leaderboard_of_the_local_run_and_leaves_nothing(world: World, short: Path) -> None:
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(400) == 0, local.communicate()[0]
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", "-o", "executor=ray")
    told, _ = run.communicate(timeout=600)

    assert run.returncode == 0, told
    assert "worker ray-1 has joined" in told
    assert world.leaderboard("there") == world.leaderboard("local")
    assert not of_ray(short)
    assert not [*short.glob("tb-ray-*")]
    for path in (world.folder / "runs/there").rglob("*"):
        assert not path.is_file() or b"tb1/" not in path.read_bytes(), path  # the ticket is a secret


def test_a_killed_raylet_and_a_killed_worker_cost_what_they_ran_and_nothing_else(world: World, short: Path) -> None:
    run = world.start("run", "--config", "waits.yaml", *RAY)
    first = dict(wait_for(lambda: len(world.begun()) == 2 and world.begun()))
    (raylet,) = raylets(short)
    os.kill(raylet, signal.SIGKILL)
    wait_for(lambda: all(world.begun()[seed] != pid for seed, pid in first.items()))
    assert all(map(has_ended, first.values()))
    workers = [pid for pid, words in processes() if "tracebench_workers --own" in words and is_below(pid, run.pid)]
    os.kill(workers[0], signal.SIGKILL)
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=600)

    assert run.returncode == 0, told
    assert "placed anew" in told
    assert "is run again" in told
    assert world.statuses() == ["ok", "ok"]
    assert not of_ray(short)


def processes() -> list[tuple[int, str]]:
    told = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [(int(line.split()[0]), line) for line in told.splitlines()]


def is_below(pid: int, ancestor: int) -> bool:
    with suppress(OSError):
        while pid > 1 and pid != ancestor:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return pid == ancestor
    return False


def test_a_killed_run_leaves_nothing_and_is_resumed_here(world: World, short: Path) -> None:
    run = world.start("run", "--config", "waits.yaml", *RAY)
    pids = [*wait_for(lambda: len(world.begun()) == 2 and world.begun()).values()]
    run.kill()
    wait_for(lambda: not of_ray(short))
    assert all(map(has_ended, pids))
    (world.folder / "go").touch()
    resumed = world.start("resume", "runs/r", "--executor", "local")
    told, _ = resumed.communicate(timeout=400)
    assert resumed.returncode == 0, told
    assert world.statuses() == ["ok", "ok"]


def test_what_nobody_has_is_told_before_anything_runs(world: World) -> None:
    for option, words in (
        ("resources={tpu: 1}", "1 tpu"),
        ("jobs=4096", "less than or equal"),
        ("jobs=1000", "1000 processors"),
    ):
        chosen = ("--config", "waits.yaml", *RAY, "-o", f"plugins.options.ray.{option}")
        checked = world.asked("validate", "--strict", *chosen)
        assert (checked.returncode != 0, words in checked.stdout + checked.stderr) == (True, True), checked
        run = world.asked("run", *chosen, "-o", f"run_id=r{len(words)}")
        assert (run.returncode != 0, words in run.stderr, "Traceback" in run.stderr) == (True, True, False), run
    assert not world.begun()


@pytest.mark.parametrize(
    ("what", "words"),
    [("cpus=64", "64 processors"), ("memory_mb=1 << 24", "1.64e+04 GiB"), ("gpus=1", "1 GPU")],
)
def test_jobs_that_take_what_no_node_has_are_refused(world: World, what: str, words: str) -> None:
    said = world.refusals(what, "-o", "executor=ray")
    assert said.count("No node of this Ray cluster has what one worker takes") == 2, said
    assert words in said


@pytest.fixture
def cluster(short: Path) -> Iterator[str]:
    """A Ray of two nodes, both on this machine: one with a processor, one with two and something of its own."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *NODE]
    environ = {**os.environ, **TOKEN}
    temp = f"--temp-dir={short}"
    head = subprocess.Popen(
        [
            *command,
            "--head",
            "--port=0",
            "--num-cpus=1",
            "--include-dashboard=false",
            temp,
            "--node-ip-address=127.0.0.2",
        ],
        env=environ,
    )
    started = [head]
    try:
        known = short / "ray_current_cluster"
        address = wait_for(lambda: known.exists() and known.read_text().strip())
        wait_for(lambda: raylets(short))
        started.append(
            subprocess.Popen(
                [
                    *command,
                    f"--address={address}",
                    "--num-cpus=2",
                    '--resources={"tpu": 1}',
                    "--node-ip-address=127.0.0.3",
                ],
                env=environ,
            )
        )
        wait_for(lambda: len(raylets(short)) == 2)
        yield address
    finally:
        for each in reversed(started):
            each.terminate()
            each.wait(120)


def test_workers_are_placed_by_what_they_ask_for_on_a_cluster_that_is_there(world: World, cluster: str) -> None:
    world.environ = {**world.environ, **TOKEN}
    there = (
        "-o",
        "executor=ray",
        "-o",
        f"plugins.options.ray.address={cluster}",
        "-o",
        "plugins.options.ray.listen=127.0.0.1:0",
    )
    takes = ("-o", "plugins.options.ray.resources={tpu: 1}")
    told = wait_for(lambda: world.asked("plan", "models.yaml", *there, *takes).stdout)  # once the other node has joined
    assert "2 workers in the Ray cluster" in told
    assert "1 at a time" in told
    assert "2 nodes with 3 processors" in told
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", *there, *takes)
    told, _ = run.communicate(timeout=600)
    assert run.returncode == 0, told
    assert "1 workers wait for a place in Ray" in told
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(400) == 0
    assert world.leaderboard("there") == world.leaderboard("local")
    wait_for(lambda: not [pid for pid, words in processes() if "ray::Seat" in words])

    stranger = {**world.environ, "RAY_AUTH_TOKEN": "6" * 64}
    world.environ = stranger
    refused = world.asked("run", "--config", "models.yaml", "-o", "run_id=stranger", *there)
    assert (refused.returncode != 0, "takes no work from here" in refused.stderr) == (True, True), refused
    assert "Traceback" not in refused.stderr


def test_a_cluster_that_is_not_there_is_told(world: World) -> None:
    run = world.asked(
        "run", "--config", "models.yaml", "-o", "executor=ray", "-o", "plugins.options.ray.address=127.0.0.1:1"
    )
    assert (run.returncode != 0, "No Ray cluster answers at `127.0.0.1:1`" in run.stderr) == (True, True), run
    assert "Traceback" not in run.stderr
