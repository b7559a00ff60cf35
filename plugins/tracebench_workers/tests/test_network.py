"""Workers on machines that reach the run by a network alone: the same results as at home, and the laws where a link goes down."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.tracebench_workers.tests.laws import TRAINER, begun, demand
from plugins.tracebench_workers.tests.network import Network, lacks
from plugins.tracebench_workers.tests.world import Process, World
from tests.processes import has_ended

pytestmark = [pytest.mark.heavy("executor"), pytest.mark.timeout(900)]
JOBS = 4
ASKS = """
run_id: r
tasks: [internal:numeric_param]
trainers: ["./asks.py:Asks"]
seeds: [1, 2, 3, 4]
mode: stub
budget: {{llm_calls: 4}}
max_workers: 2
executor: workers
plugins: {{options: {{workers: {{files: streamed, listen: "{here}:0", ticket: ticket, lease: {lease}}}}}}}
"""
KNOCK = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)"


@pytest.fixture
def network() -> Iterator[Network]:
    if why := lacks():
        pytest.skip(why)
    made = Network()
    try:
        for _ in range(2):
            made.plug()
        yield made
    finally:
        made.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    (tmp_path / "asks.py").write_text(TRAINER)
    yield made
    made.close()


def join(world: World, network: Network, number: int) -> Process:
    """Start a worker on a machine."""
    world.wait_for((world.folder / "ticket").exists)
    return world.start("worker", "--ticket", "ticket", "--name", f"node{number}", within=network.within(number))


def knock(network: Network, number: int, host: str, port: int) -> int:
    """Return 0 where a machine reaches an address."""
    argv = [*network.within(number), sys.executable, "-c", KNOCK, host, str(port)]
    return subprocess.run(argv, capture_output=True, check=False, timeout=60).returncode


@pytest.mark.parametrize("files", ["shared", "streamed"])
def test_other_machines_give_the_leaderboard_of_the_local_run(world: World, network: Network, files: str) -> None:
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(600) == 0, local.communicate()[0]
    options = [f"listen={network.here}:0", "ticket=ticket", f"files={files}"]
    words = [word for option in options for word in ("-o", f"plugins.options.workers.{option}")]
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", "-o", "executor=workers", *words)
    ticket = world.ticket()
    assert knock(network, 0, network.here, ticket.port) == 0
    assert knock(network, 0, "127.0.0.1", ticket.port) != 0, "it has the run's own loopback"
    workers = [join(world, network, number) for number in (0, 1)]
    told, _ = run.communicate(timeout=600)
    assert run.returncode == 0, told
    assert "worker node0 has joined" in told
    assert "worker node1 has joined" in told
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert world.leaderboard("there") == world.leaderboard("local")
    checked = world.asked("fsck", "runs/there")
    assert checked.returncode == 0, checked.stdout
    assert not network.pids(0)
    assert not network.pids(1)


@pytest.mark.parametrize(
    ("lease", "seconds", "is_lost"),
    [(60, 10.0, False), (6, 10.0, True), (6, None, True)],
    ids=["ten-seconds", "longer-than-its-lease", "for-good"],
)
def test_the_laws_hold_where_a_link_goes_down(
    world: World, network: Network, *, lease: int, seconds: float | None, is_lost: bool
) -> None:
    (world.folder / "run.yaml").write_text(ASKS.format(here=network.here, lease=lease))
    run = world.start("run", "--config", "run.yaml")
    workers = [join(world, network, number) for number in (0, 1)]
    world.wait_for(lambda: len(begun(world.folder)) >= 2)
    time.sleep(1.0)  # in the middle of a job that asks a model
    network.unplug(0)
    if seconds is not None:
        time.sleep(seconds)
        network.unplug(0, again=True)
    told, _ = run.communicate(timeout=800)
    assert run.returncode == 0, told
    for worker in workers:  # the one that is cut off ends by itself
        worker.wait(120)
    assert not [pid for number in (0, 1) for pid in network.pids(number)]
    assert not [pid for _, pid in begun(world.folder) if not has_ended(pid)]
    demand(world, jobs=JOBS, told=[told])
    assert ("worker node0 has not said a word for" in told) == is_lost, told
    assert (told.count("is run again") > 0) == is_lost, told
