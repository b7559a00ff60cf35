"""The index reads what changed and nothing else, survives what lies in a folder, and is thrown away at will."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError
from tracebench_engine.api import load_run
from tracebench_viewer.index import Index, index_file
from tracebench_viewer.shelf import Filter, Shelf


def test_a_run_is_indexed_as_its_results_are(runs_dir: Path) -> None:
    shelf = Shelf(runs_dir)
    assert shelf.look().read == ("first",)
    (run,) = shelf.runs()
    assert (run["state"], run["jobs"], run["done"], run["counts"]) == ("ended", 4, 4, {"ok": 2, "failed": 2})
    assert run["tags"] == ["small"]
    results = load_run(runs_dir / "first").results
    for job in shelf.jobs("first"):
        result = results[job["job_id"]]
        told = (job["status"], job["best"], job["evaluations"], job["task"], job["seed"])
        assert told == (result.status, result.score_val_best, result.used.evaluations, result.task_id, result.seed)


def test_one_more_run_is_all_that_is_read(runs_dir: Path) -> None:
    index = Index(runs_dir, file=index_file(runs_dir))
    assert index.refresh().read == ("first",)
    assert index.refresh().read == ()
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    assert index.refresh().read == ("second",)
    (runs_dir / "first" / "results.csv").write_text((runs_dir / "first" / "results.csv").read_text() + "\n")
    assert index.refresh().read == ("first",)
    shutil.rmtree(runs_dir / "second")
    assert index.refresh().gone == ("second",)
    assert [row["name"] for row in index.rows("select name from runs")] == ["first"]
    index.close()
    assert Index(runs_dir, file=index_file(runs_dir)).refresh().read == ()


def test_time_that_is_up_leaves_the_rest_for_later(runs_dir: Path) -> None:
    for name in "bcd":
        shutil.copytree(runs_dir / "first", runs_dir / name)
    index = Index(runs_dir, file=None)
    first = index.refresh(seconds=-1)
    assert (first.read, first.left) == (("first",), 3)
    while index.refresh(seconds=-1).left:
        pass
    assert len(index.rows("select name from runs")) == 4


IRREGULAR: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "holes": lambda path: path.touch() or os.truncate(path, 3 << 30),  # type: ignore[func-returns-value]
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", IRREGULAR)
@pytest.mark.parametrize("name", ["meta/manifest.json", "summary.json", "results.csv", "jobs/*/results.json"])
def test_what_is_no_file_costs_no_other_run(runs_dir: Path, kind: str, name: str) -> None:
    bad = Path(shutil.copytree(runs_dir / "first", runs_dir / "bad"))
    path = sorted(bad.glob(name))[0]
    path.unlink()
    IRREGULAR[kind](path)
    shelf = Shelf(runs_dir)
    read = {*shelf.look().read}
    while shelf.last.left:  # a first look takes a fifth of a second, after the first run that it reads
        read.update(shelf.look(now=True).read)
    assert read == {"bad", "first"}
    assert {run["name"]: run["done"] for run in shelf.runs()}["first"] == 4
    assert len(shelf.jobs("first")) == 4
    shelf.jobs("bad")


@pytest.mark.parametrize(
    "damage", ["not json", '{"format_version": 99, "jobs": []}', "{}", '{"format_version": 1, "jobs": [3]}', "\x00"]
)
def test_what_cannot_be_read_is_told_in_words(runs_dir: Path, damage: str) -> None:
    (runs_dir / "first" / "meta" / "manifest.json").write_text(damage)
    (run,) = _shelf(runs_dir).runs()
    assert run["state"] == "unreadable"
    assert run["problem"]


@pytest.mark.parametrize("name", ["results.csv", "summary.json"])
def test_a_torn_table_costs_what_it_said(runs_dir: Path, name: str) -> None:
    path = runs_dir / "first" / name
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2])
    (run,) = _shelf(runs_dir).runs()
    assert run["jobs"] == 4
    path.unlink()
    (run,) = _shelf(runs_dir).runs()
    assert run["state"] == "stopped"


def test_folders_that_are_no_runs_are_passed_over(runs_dir: Path) -> None:
    (runs_dir / "empty").mkdir()
    (runs_dir / "a file").write_text("x")
    assert [run["name"] for run in _shelf(runs_dir).runs()] == ["first"]


def test_a_damaged_index_is_made_anew(runs_dir: Path) -> None:
    file = index_file(runs_dir)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"this is no database, and long enough to be looked at" * 100)
    assert [run["name"] for run in _shelf(runs_dir).runs()] == ["first"]


def test_an_index_of_another_version_is_made_anew(runs_dir: Path) -> None:
    _shelf(runs_dir).index.close()
    with sqlite3.connect(index_file(runs_dir)) as db:
        db.execute("pragma user_version = 999")
        db.execute("alter table runs drop column tags")
    db.close()
    assert [run["name"] for run in _shelf(runs_dir).runs()] == ["first"]


def test_no_cache_folder_means_memory(runs_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [run["name"] for run in _shelf(runs_dir).runs()] == ["first"]


def test_filters_keep_what_has_any_of_what_is_wished(runs_dir: Path) -> None:
    shelf = _shelf(runs_dir)
    assert shelf.runs(Filter(tasks=["internal:numeric_param", "no:such"]))
    assert not shelf.runs(Filter(trainers=["NoOp"]))
    assert shelf.runs(Filter(text="FIR"))
    assert not shelf.runs(Filter(text="firs2"))


def test_failures_come_in_groups(runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    (group,) = _shelf(runs_dir).failures()
    assert (group["task"], group["jobs"], group["runs"]) == ("internal:non_trainable", 4, ["first", "second"])
    assert "no trainable" in group["said"]


def test_a_run_that_was_killed_is_stopped(runs_dir: Path) -> None:
    summary = runs_dir / "first" / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"exit_code": None}))
    assert _shelf(runs_dir).runs()[0]["state"] == "stopped"


def test_a_folder_that_went_away_is_told(runs_dir: Path) -> None:
    shelf = Shelf(runs_dir)
    shutil.rmtree(runs_dir)
    with pytest.raises(RunDirError, match="cannot be read"):
        shelf.look()


def _shelf(runs_dir: Path) -> Shelf:
    shelf = Shelf(runs_dir)
    shelf.look()
    return shelf
