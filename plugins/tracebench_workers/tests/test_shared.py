"""A folder that a run and its workers share: what each side proves, what is taken of it, and what happens where it is not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.tracebench_workers.tests.world import COMMAND, Process, World
from tests.whole import HEAVY

from tracebench_workers import shared
from tracebench_workers.shared import Corner, FolderGoneError, Ground, NotSharedError, put

HAS_NAMESPACES = (
    shutil.which("unshare") is not None
    and subprocess.run(
        ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"], check=False, capture_output=True
    ).returncode
    == 0
)
ALONE = pytest.mark.skipif(not HAS_NAMESPACES, reason="mounts in a namespace of one's own are not allowed here")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    (tmp_path / "jobs").mkdir()
    made = Ground(tmp_path)
    yield made
    made.close()
    assert not (tmp_path / "incoming").exists()


def written(corner: Corner, job: str, text: str) -> None:
    (corner.path / "jobs" / job).mkdir()
    (corner.path / "jobs" / job / "file").write_text(text)


def test_each_side_believes_what_it_finds_alone(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "SEEN_SECONDS", 0.2)
    corner = Corner(ground.offer(), "a")
    assert ground.is_seen_by("a", corner.proof)
    assert not ground.is_seen_by("a", "x" * 64)
    assert not ground.is_seen_by("b", corner.proof)  # it has written nothing here
    assert not ground.is_seen_by("../a", corner.proof)
    with pytest.raises(NotSharedError):
        Corner({**ground.offer(), "path": str(tmp_path / "nowhere")}, "a")


def test_a_job_is_taken_whole_and_once(ground: Ground, tmp_path: Path) -> None:
    one, late = (Corner(ground.offer(), name) for name in ("one", "late"))
    written(one, "j", "trained")
    ground.take("one", "j")
    one.copy(["j", "not-there"])
    written(late, "j", "late")
    (one.path / "jobs/j/file").write_text("scored")
    assert (tmp_path / "jobs/j/file").read_text() == "trained"
    ground.take("one", "j")
    assert (tmp_path / "jobs/j/file").read_text() == "scored"
    assert not (one.path / "jobs/j").exists()
    with pytest.raises(NotSharedError, match="none of its files"):
        ground.take("one", "j")
    (one.path / "jobs/j").symlink_to(late.path / "jobs/j")
    with pytest.raises(NotSharedError, match="no folder"):
        ground.take("one", "j")
    assert (tmp_path / "jobs/j/file").read_text() == "scored"
    one.demand()
    one.close()
    one.path.mkdir()
    with pytest.raises(FolderGoneError):  # another one, of the same name
        one.demand()


def test_a_folder_is_put_in_place_where_the_file_system_cannot_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    monkeypatch.setattr(shared, "_EXCHANGE", 1 << 20)  # flags that no file system knows
    put(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old/file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def hidden(world: World, *words: str) -> Process:
    """Start a worker that does not see the runs: another folder is mounted over them, for it alone."""
    script = 'mount -t tmpfs none runs && exec "$0" "$@"'
    world.wait_for((world.folder / "ticket").exists)
    return world.start("worker", "--ticket", "ticket", *words, within=["unshare", "--mount", "sh", "-c", script])


@ALONE
def test_a_run_that_is_to_be_shared_refuses_a_worker_that_does_not_see_it(world: World) -> None:
    files = "plugins.options.workers.files=shared"
    run = world.start("run", "--config", "waits.yaml", "-o", files, "-o", "seeds=[1]")
    elsewhere = hidden(world)
    words, _ = elsewhere.communicate(timeout=300)
    assert elsewhere.returncode == 2
    assert "the run directory is not shared with this machine" in words
    assert "`files: auto`" in words
    assert "Traceback" not in words
    world.worker("here")
    (world.folder / "go").touch()
    told, _ = run.communicate(timeout=300)
    assert run.returncode == 0, told
    assert world.statuses() == ["ok"]


@ALONE
@HEAVY
def test_files_are_streamed_by_a_worker_that_does_not_see_the_run(world: World) -> None:
    local = world.start("run", "--config", "models.yaml", "-o", "run_id=local")
    assert local.wait(300) == 0, local.communicate()[0]
    options = (
        "executor=workers",
        "plugins.options.workers.listen=127.0.0.1:0",
        "plugins.options.workers.ticket=ticket",
    )
    run = world.start("run", "--config", "models.yaml", "-o", "run_id=there", *(w for o in options for w in ("-o", o)))
    hidden(world, "--name", "far")
    told, _ = run.communicate(timeout=300)
    assert run.returncode == 0, told
    assert world.leaderboard("there") == world.leaderboard("local")
    assert not (world.folder / "runs/there/incoming").exists()


@ALONE
@HEAVY
def test_a_shared_folder_that_goes_while_a_job_runs_costs_that_job_another_start_and_that_worker_its_place(
    world: World,
) -> None:
    run = world.start("run", "--config", "waits.yaml", "-o", "seeds=[1]", "-o", "max_workers=1")
    world.wait_for((world.folder / "ticket").exists)
    script = 'mount --make-rprivate / && exec "$0" worker --ticket ticket'
    worker = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script, COMMAND],
        cwd=world.folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        world.wait_for(world.begun)
        inside = ["nsenter", "--mount", f"--target={worker.pid}"]
        subprocess.run([*inside, "mount", "-t", "tmpfs", "none", str(world.folder / "runs")], check=True)
        (world.folder / "go").touch()
        words = worker.communicate(timeout=300)[1]
        assert (worker.returncode, "shared with its run is gone" in words, "Traceback" in words) == (3, True, False), (
            words
        )
        world.worker("other")
        told, _ = run.communicate(timeout=300)
    finally:
        worker.kill()
        worker.wait()
    assert run.returncode == 0, told
    assert "is run again" in told
    assert world.statuses() == ["ok"]


@pytest.mark.skipif(shutil.which("bindfs") is None or os.geteuid() != 0, reason="no bindfs: apt-get install bindfs")
@HEAVY
def test_a_run_whose_folder_is_served_by_another_program_waits_while_that_is_held(world: World) -> None:
    (world.folder / "served").mkdir()
    (world.folder / "runs").mkdir()
    server = subprocess.Popen(["bindfs", "-f", "--no-allow-other", "served", "runs"], cwd=world.folder)
    try:
        world.wait_for(lambda: os.path.ismount(world.folder / "runs"))
        run = world.start("run", "--config", "waits.yaml", "-o", "plugins.options.workers.files=shared")
        workers = [world.worker("one"), world.worker("two")]
        world.wait_for(lambda: len(world.begun()) == 2)
        server.send_signal(signal.SIGSTOP)
        (world.folder / "go").touch()
        time.sleep(10)
        server.send_signal(signal.SIGCONT)
        told, _ = run.communicate(timeout=300)
        assert run.returncode == 0, told
        assert world.statuses() == ["ok", "ok"]
        assert told.count("has joined") == 2
        assert [worker.wait(60) for worker in workers] == [0, 0]
        assert world.asked("fsck", "runs/r").returncode == 0
    finally:
        subprocess.run(["umount", "-l", str(world.folder / "runs")], check=False)
        server.kill()
        server.wait()


@pytest.mark.parametrize("job_id", ["", ".", "..", "../../mine", "/mine", "a/b"])
def test_a_worker_takes_no_job_by_a_name_that_leads_elsewhere(tmp_path: Path, job_id: str) -> None:
    """What it copies it removes first."""
    (tmp_path / "run/jobs").mkdir(parents=True)
    ground = Ground(tmp_path / "run")
    corner = Corner(ground.offer(), "a")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NotSharedError, match="names a job"):
        corner.copy([job_id])
    assert sorted(tmp_path.rglob("*")) == before
