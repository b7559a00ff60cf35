"""Runs on a real Slurm: its own daemons on this machine, two nodes, arrays, requeues, cancels and kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.tracebench_slurm.tests.cluster import Cluster, lacks
from plugins.tracebench_workers.tests.world import World
from tests.processes import has_ended

pytestmark = [pytest.mark.heavy("slurm"), pytest.mark.skipif(bool(lacks()), reason=lacks()), pytest.mark.timeout(600)]
SLURM = ("-o", "executor=slurm", "-o", "plugins.options.slurm.listen=127.0.0.1:0")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.fixture
def world(tmp_path: Path, cluster: Cluster) -> Iterator[World]:
    made = World(tmp_path, environ={name: cluster.environ[name] for name in ("SLURM_CONF", "PATH")})
    yield made
    made.close()
    cluster.told("scancel", "--user=root")
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))


def test_an_array_gives_the_leaderboard_of_the_local_run_and_leaves_nothing(world: World, cluster: Cluster) -> None:
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(400) == 0, local.communicate()[0]
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", *SLURM)
    told, _ = run.communicate(timeout=400)

    assert run.returncode == 0, told
    assert "worker slurm-" in told
    assert world.leaderboard("there") == world.leaderboard("local")
    checked = world.asked("fsck", "runs/there")  # the workers' logs are whole, too
    assert checked.returncode == 0, checked.stdout
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))
    shown = world.asked("show", "runs/there", "--json").stdout
    assert "tb1/" not in shown  # the ticket is a secret
    for path in (world.folder / "runs/there").rglob("*"):
        assert not path.is_file() or b"tb1/" not in path.read_bytes(), path


def test_what_a_cancelled_element_or_a_dead_node_ran_is_run_again(world: World, cluster: Cluster) -> None:
    run = world.start("run", "--config", "waits.yaml", *SLURM, "-o", "seeds=[1]", "-o", "max_workers=1")
    world.wait_for(world.begun)
    first = world.begun()["1"]
    cluster.told("scancel", running(cluster)[0])
    world.wait_for(lambda: world.begun()["1"] != first)
    node = running(cluster)[1]
    cluster.kill(node)  # the daemon alone: what it has started goes on, and its worker is heard
    cluster.wait_for(lambda: "down" in cluster.told("sinfo", "-h", "-n", node, "-o", "%T"))
    cluster.start_node(node)
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=400)

    assert run.returncode == 0, told
    assert "is run again" in told
    assert world.statuses() == ["ok"]
    assert all(map(has_ended, [first, *world.begun().values()]))
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))
    cluster.wait_for(lambda: cluster.told("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"])


def test_a_time_limit_ends_a_worker_and_its_job_is_run_again_by_another(world: World, cluster: Cluster) -> None:
    limit = ("-o", "plugins.options.slurm.minutes=1", "-o", "seeds=[1]", "-o", "max_workers=1")
    run = world.start("run", "--config", "waits.yaml", *SLURM, *limit)
    world.wait_for(world.begun)
    first = world.begun()["1"]
    array = running(cluster)[0].partition("_")[0]
    world.wait_for(lambda: world.begun()["1"] != first)
    assert has_ended(first)
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=400)

    assert run.returncode == 0, told
    assert "is run again" in told
    assert world.statuses() == ["ok"]
    log = (world.folder / f"runs/r/slurm-{array}_0.log").read_text()
    assert "DUE TO TIME LIMIT" in log, log
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))


def test_a_requeued_worker_joins_anew_and_its_job_is_run_again(world: World, cluster: Cluster) -> None:
    run = world.start("run", "--config", "waits.yaml", *SLURM, "-o", "seeds=[1]", "-o", "max_workers=1")
    world.wait_for(world.begun)
    first = world.begun()["1"]
    element = running(cluster)[0]
    cluster.told("scontrol", "requeue", element)
    world.wait_for(lambda: world.begun()["1"] != first)
    assert has_ended(first)
    assert running(cluster)[0] == element  # no other was submitted
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=400)

    assert run.returncode == 0, told
    assert told.count(f"worker slurm-{element} has joined") == 2
    assert "is run again" in told
    assert world.statuses() == ["ok"]
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))


def running(cluster: Cluster) -> list[str]:
    """Return the one element that runs, and its node."""
    told = cluster.told("squeue", "--array", "--noheader", "--states=RUNNING", "--format=%i %N")
    (line,) = told.splitlines()
    return line.split()


def test_a_killed_run_leaves_nothing_in_slurm_and_is_resumed_here(world: World, cluster: Cluster) -> None:
    run = world.start("run", "--config", "waits.yaml", *SLURM, "-o", "plugins.options.slurm.lease=5")
    world.wait_for(lambda: len(world.begun()) == 2)
    pids = [*world.begun().values()]
    os.kill(run.pid, signal.SIGKILL)
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))
    assert all(map(has_ended, pids))
    (world.folder / "go").touch()
    resumed = world.start("resume", "runs/r", "--executor", "local")
    told, _ = resumed.communicate(timeout=400)
    assert resumed.returncode == 0, told
    assert world.statuses() == ["ok", "ok"]


def test_a_dead_controller_is_waited_for(world: World, cluster: Cluster) -> None:
    run = world.start("run", "--config", "waits.yaml", *SLURM)
    world.wait_for(lambda: len(world.begun()) == 2)
    cluster.kill("slurmctld")
    (world.folder / "go").touch()
    world.wait_for(lambda: len(world.statuses()) == 2)
    cluster.start_controller()
    told, _ = run.communicate(timeout=400)
    assert run.returncode == 0, told
    assert world.statuses() == ["ok", "ok"]
    cluster.wait_for(lambda: not cluster.told("squeue", "--noheader"))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("partition=nowhere", "invalid partition specified"),
        ("jobs=64", "Requested node configuration is not available"),
        ("sbatch=[--account]", "requires an argument"),
    ],
)
def test_what_slurm_would_refuse_is_told_before_anything_runs(world: World, option: str, words: str) -> None:
    checked = world.asked(
        "validate", "--strict", "--config", "waits.yaml", *SLURM, "-o", f"plugins.options.slurm.{option}"
    )
    assert (checked.returncode != 0, words in checked.stdout) == (True, True), checked.stdout + checked.stderr
    run = world.asked("run", "--config", "waits.yaml", *SLURM, "-o", f"plugins.options.slurm.{option}")
    assert run.returncode != 0
    assert words in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("what", ["cpus=64", "memory_mb=1 << 24", "gpus=1"])
def test_jobs_that_take_what_no_node_has_are_refused(world: World, what: str) -> None:
    said = world.refusals(what, *SLURM)
    assert said.count("Slurm would not take such a worker") == 2, said
    assert not (world.folder / "runs").exists()


def test_plan_says_where_jobs_would_run(world: World) -> None:
    planned = world.asked("plan", "waits.yaml", *SLURM, "-o", "plugins.options.slurm.minutes=5")
    assert "an array of 2 in Slurm (--cpus-per-task=1 --time=5), each 1 at a time" in planned.stdout, planned.stderr
    short = world.asked("plan", "waits.yaml", *SLURM, "-o", "plugins.options.slurm.minutes=5", "-o", "job_timeout=600")
    assert "it would be lost each time" in short.stderr
    assert "Traceback" not in short.stderr
