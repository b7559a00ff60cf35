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

from tracebench_core import api
from tracebench_core.config import parse_config
from tracebench_core.store.fsck import check_run, repair_run


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


def test_the_list_of_runs_goes_on(finished: Path, tmp_path: Path) -> None:
    for kind in ("fifo", "device"):
        for name in ("meta/manifest.json", "summary.json"):
            put(finished, tmp_path / f"{kind}-{name[:4]}", kind, name)
    done = trace_bench("runs", "--runs-dir", str(finished.parent), folder=tmp_path, environ=dict(os.environ))
    assert done.returncode == 0
    for folder in sorted(tmp_path.iterdir()):
        done = trace_bench("runs", "--runs-dir", str(folder), folder=tmp_path, environ=dict(os.environ))
        assert done.returncode == 0, done.stderr
