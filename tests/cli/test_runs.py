"""`trace-bench runs`: what lies in a folder of runs, whatever state it is in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracebench_engine.cli.app import app


def listed(folder: Path, *options: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(app, ["runs", "--runs-dir", str(folder), "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])["runs"]  # type: ignore[no-any-return]


def make_run(folder: Path, name: str, *, created: str, jobs: int = 2) -> Path:
    run = folder / name
    (run / "meta").mkdir(parents=True)
    manifest = {
        "created_at": created,
        "jobs": [{}] * jobs,
        "tasks": {"a:b": {}},
        "trainers": {"X": {}, "Y": {}, "Z": {}},
    }
    (run / "meta" / "manifest.json").write_text(json.dumps(manifest))
    summary = {"counts": {"ok": jobs, "failed": 0}, "usage": {"total": {"llm_calls": 3, "usd": None}}}
    (run / "summary.json").write_text(json.dumps(summary))
    return run


def test_the_newest_run_comes_first(tmp_path: Path) -> None:
    make_run(tmp_path, "b-older", created="2026-01-01T00:00:00+00:00")
    make_run(tmp_path, "a-newer", created="2026-02-01T00:00:00+00:00", jobs=5)
    (tmp_path / "no-run").mkdir()

    newest, older = listed(tmp_path)

    assert (newest["run"], newest["jobs"], newest["counts"], newest["usd"]) == ("a-newer", 5, {"ok": 5}, None)
    assert older["run"] == "b-older"
    assert [facts["run"] for facts in listed(tmp_path, "--limit", "1")] == ["a-newer"]
    make_run(tmp_path, "c-oldest", created="2025-01-01T00:00:00+00:00")
    result = CliRunner().invoke(app, ["runs", "--runs-dir", str(tmp_path), "--limit", "1"])
    assert "2 older." in result.output


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"jobs": 3}' * 2])
def test_a_damaged_run_is_listed_with_what_is_left(tmp_path: Path, damage: str) -> None:
    run = make_run(tmp_path, "torn", created="2026-01-01T00:00:00+00:00")
    (run / "summary.json").write_text(damage)
    (run / "meta" / "manifest.json").write_text(damage)

    (facts,) = listed(tmp_path)

    assert (facts["run"], facts["counts"]) == ("torn", {})


def test_an_empty_folder_says_how_to_start(tmp_path: Path) -> None:
    make_run(tmp_path, "x", created="2026-01-01T00:00:00+00:00")
    shutil.rmtree(tmp_path / "x")

    result = CliRunner().invoke(app, ["runs", "--runs-dir", str(tmp_path / "absent")])

    assert result.exit_code == 0
    assert "trace-bench run --config" in result.output
