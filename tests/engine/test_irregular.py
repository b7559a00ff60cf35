"""What lies in the place of a run's file and is none is refused in words, by everything that reads a run, and set aside by a repair."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from tests.warm import trace_bench

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run, repair_run
from tracebench_runs.storage.regular import IrregularFileError, read_whole


def holes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


KINDS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "folder": Path.mkdir,
    "holes": holes,
}
FILES = (
    "meta/manifest.json",
    "meta/files_index.json",
    "jobs/*/results.json",
    "jobs/*/events.jsonl",
    "journal-main.jsonl",
    "summary.json",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("irregular")
    config = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": [1, 2], "runs_dir": str(folder)}
    return api.run(parse_config(config), stream=io.StringIO()).run_dir


def put(finished: Path, folder: Path, kind: str, name: str) -> Path:
    run = Path(shutil.copytree(finished, folder / "run"))
    path = sorted(run.glob(name))[0]
    path.unlink()
    KINDS[kind](path)
    return run


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_it_is_a_finding_and_a_repair_sets_it_aside(finished: Path, tmp_path: Path, kind: str, name: str) -> None:
    run = put(finished, tmp_path, kind, name)
    assert [finding.mended_by for finding in check_run(run)] == ["repair"]
    left = repair_run(run)
    assert not any("regular" in finding.message or "holes" in finding.message for finding in left)
    assert any((run / "lost+found").rglob("*.1"))


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        *product(["fifo", "device"], ["show", "compare", "fsck", "export", "resume"]),
        ("holes", "show"),
        ("holes", "fsck"),
    ],
)
def test_no_command_waits_for_it(finished: Path, tmp_path: Path, kind: str, command: str) -> None:
    run = put(finished, tmp_path, kind, FILES[3] if kind == "holes" else FILES[2])
    done = trace_bench(command, str(run), folder=tmp_path, environ=dict(os.environ))
    assert done.returncode in {0, 1, 2}, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_that_is_none_is_told_once_with_what_mends_it(finished: Path, tmp_path: Path, kind: str) -> None:
    run = put(finished, tmp_path, kind, FILES[0])
    done = trace_bench("show", str(run), folder=tmp_path, environ=dict(os.environ))
    assert done.returncode == 2
    assert done.stderr.count("cannot be read") == 1, done.stderr
    assert f"trace-bench fsck {run} --repair" in done.stderr


FOLDERS = ("meta", "jobs", "jobs/*", "jobs/*/artifacts")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_a_run_that_is_a_link_is_not_followed(finished: Path, tmp_path: Path, name: str) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    if "artifacts" in name:
        for job in (run / "jobs").iterdir():
            (job / "artifacts").mkdir(exist_ok=True)
    folder = sorted(run.glob(name))[0]
    away = folder.rename(tmp_path / "away")
    folder.symlink_to(away)
    (away / "secret.txt").write_text("secret")
    (places := [place.relative_to(away) for place in away.rglob("*") if place.is_file()]).sort()
    for place in places if name != "jobs" else places[:-1]:  # the secret is the last, and no place of a run's file
        with pytest.raises(IrregularFileError, match="is a link"):
            read_whole(folder / place)
    assert f"{folder.relative_to(run)}: it is a link" in {f"{f.path}: {f.message}" for f in check_run(run)}
    for command in ("show", "fsck", "resume"):
        done = trace_bench(command, str(run), folder=tmp_path, environ=dict(os.environ))
        assert "internal error" not in done.stderr
        assert "Traceback" not in done.stderr + done.stdout
    assert (away / "secret.txt").read_text() == "secret"


def test_a_repair_sets_a_link_to_a_job_aside_and_the_job_is_run_again(finished: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    job = sorted((run / "jobs").iterdir())[0]
    away = job.rename(tmp_path / "away")
    before = {path: path.read_bytes() for path in away.rglob("*") if path.is_file()}
    job.symlink_to(away)
    repair_run(run)
    assert not job.exists()
    assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert not job.is_symlink()
    assert [finding for finding in check_run(run) if finding.mended_by != "nothing"] == []
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_that_is_reached_through_links_is_a_run(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    shutil.copytree(finished, tmp_path / "real/run")
    (tmp_path / "runs").symlink_to(tmp_path / "real")
    (tmp_path / "real/link").symlink_to(tmp_path / "real/run")
    assert check_run(tmp_path / "runs/link") == []
    assert api.load_run(tmp_path / "runs/link").results


@pytest.mark.parametrize("name", ["attempts/0.1/events.jsonl", "jobs/*/artifacts/large", "llm/blobs/aa/bb"])
def test_a_hole_that_nobody_can_read_to_its_end_is_told_and_not_hashed(
    finished: Path, tmp_path: Path, name: str
) -> None:
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    path = run / name.replace("*", sorted((run / "jobs").iterdir())[0].name)
    path.parent.mkdir(parents=True, exist_ok=True)
    holes(path)
    read = _bytes_read()
    for _ in range(2):
        told = [finding for finding in check_run(run) if finding.path == path.relative_to(run).as_posix()]
        assert [(f.code, f.mended_by, "holes" in f.message) for f in told] == [("damaged", "nothing", True)]
        repair_run(run)
        assert api.resume(run, stream=io.StringIO()).counts == {"ok": 2}
    assert path.stat().st_size == 3 << 30
    assert _bytes_read() - read < 1 << 30


def _bytes_read() -> int:
    """Return how many bytes this process has read, from wherever."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["rchar"])


def test_the_list_of_runs_goes_on(finished: Path, tmp_path: Path) -> None:
    for kind in ("fifo", "device"):
        for name in ("meta/manifest.json", "summary.json"):
            put(finished, tmp_path / f"{kind}-{name[:4]}", kind, name)
    done = trace_bench("runs", "--runs-dir", str(finished.parent), folder=tmp_path, environ=dict(os.environ))
    assert done.returncode == 0
    for folder in sorted(tmp_path.iterdir()):
        done = trace_bench("runs", "--runs-dir", str(folder), folder=tmp_path, environ=dict(os.environ))
        assert done.returncode == 0, done.stderr
