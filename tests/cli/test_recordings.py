"""Recorded runs that a package offers, read by their names: other prices and caps than those that they had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.warm import trace_bench

pytestmark = pytest.mark.timeout(600)
CONFIG = {
    "run_id": "mine",
    "tasks": ["internal:numeric_param"],
    "trainers": ["RandomSearch", "SequentialRefine"],
    "seeds": [1, 2],
    "mode": "stub",
    "budget": {"evaluations": 20, "llm_calls": 10},
}


def said(*argv: object, folder: Path, code: int = 0) -> str:
    env = os.environ | {"PYTHONPATH": str(folder / "site")}
    done = trace_bench(*map(str, argv), folder=folder, environ=env)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run in `runs`, and in `site` a distribution that offers its recording, and one that is damaged."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "mine.json").write_text(json.dumps(CONFIG))
    said("run", "--config", "mine.json", folder=folder)
    package = folder / "site/tracebench_recordings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    pack = [sys.executable, "-m", "zipfile", "-c", str(package / "mine.zip"), "mine"]
    subprocess.run(pack, cwd=folder / "runs", check=True)
    (package / "torn.zip").write_bytes((package / "mine.zip").read_bytes()[:2000])
    for name in ("mine", "torn"):
        (package / f"{name}.json").write_text(json.dumps({"title": "A run of mine", "model": "Of the stub."}))
    about = folder / "site/tracebench_recordings-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tracebench-recordings\nVersion: 1.0\n")
    points = "".join(f"{name} = tracebench_recordings\n" for name in ("mine", "torn"))
    (about / "entry_points.txt").write_text(f"[tracebench.demos]\n{points}")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("recap", "--max-evaluations", "7", "--json"),
        ("compare", "--json"),
        ("recap", "--max-calls", "3", "--json"),
    ],
    ids=" ".join,
)
def test_a_recording_is_read_as_the_run_is(installed: Path, words: tuple[str, ...]) -> None:
    command, *options = words
    recorded = json.loads(said(command, "recording:mine", *options, "--runs-dir", "elsewhere", folder=installed))
    assert recorded == json.loads(said(command, "mine", *options, folder=installed))


def test_what_is_no_recording_says_so(installed: Path) -> None:
    assert "`mine`" in said("recap", "recording:mien", folder=installed, code=2)
    assert "no recorded run" in said("recap", "recording:torn", folder=installed, code=2)
    (installed / "file").write_text("")
    assert "cannot be written" in said("recap", "recording:mine", "--runs-dir", "file/x", folder=installed, code=1)


def test_a_recording_is_not_written_to(installed: Path) -> None:
    assert "There is no run" in said("resume", "recording:mine", folder=installed, code=2)
    with zipfile.ZipFile(installed / "site/tracebench_recordings/mine.zip") as archive:
        kept = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    said("recap", "recording:mine", "--runs-dir", "again", folder=installed)
    (unpacked,) = (installed / "again/.demos").glob("*/mine")
    assert {f"mine/{p.relative_to(unpacked)}": p.read_bytes() for p in unpacked.rglob("*") if p.is_file()} == kept
