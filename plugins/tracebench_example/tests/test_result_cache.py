"""The cache of results around jobs: what ended well is copied into the next run, and nothing else is."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tracebench_core.errors import TraceBenchError
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_example.command import app, clear
from tracebench_runs.check.fsck import check_run


def run(folder: Path, name: str, **more: Any) -> Any:
    config = {
        "run_id": name,
        "runs_dir": str(folder / "runs"),
        "tasks": ["internal:numeric_param"],
        "trainers": ["RandomSearch"],
        "seeds": [1, 2],
        "budget": {"evaluations": 8},
        "plugins": {"options": {"result_cache": {"folder": str(folder / "cache")}}},
        **more,
    }
    return api.load_run(api.run(parse_config(config), stream=io.StringIO()).run_dir)


def origins(found: Any) -> list[str | None]:
    files = [found.layout.job(job.job_id).artifacts / "result_cache.json" for job in found.planned]
    return [json.loads(file.read_text())["run_id"] if file.exists() else None for file in files]


def test_equal_jobs_are_copied_other_jobs_are_run_and_the_copy_is_a_sound_run(tmp_path: Path) -> None:
    first, second = run(tmp_path, "first"), run(tmp_path, "second", seeds=[2, 3])

    assert origins(first) == [None, None]
    assert origins(second) == ["first", None]
    shared = second.planned[0].job_id
    assert second.results[shared] == first.results[shared]
    assert first.results[shared].status == "ok"
    assert check_run(second.layout.path) == []


def test_a_damaged_entry_is_not_used_and_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    run(tmp_path, "first")
    for results in (tmp_path / "cache").glob("*/*/results.json"):
        results.write_text(results.read_text()[:40])
    assert origins(run(tmp_path, "second")) == [None, None]

    run(tmp_path / "other", "third", plugins={"options": {"result_cache": {}}})
    assert not (tmp_path / "other" / "cache").exists()


def test_an_option_that_it_does_not_know_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(TraceBenchError, match="result_cache"):
        run(tmp_path, "first", plugins={"options": {"result_cache": {"fodler": "x"}}})


def test_the_command_lists_and_clears_what_is_kept_and_touches_nothing_else(tmp_path: Path) -> None:
    run(tmp_path, "first")
    cache = tmp_path / "cache"
    (cache / "mine").mkdir()

    listed = CliRunner().invoke(app, ["list", str(cache)])
    cleared = CliRunner().invoke(app, ["clear", str(cache)])

    assert listed.exit_code == cleared.exit_code == 0
    assert listed.stdout.count("tracebench-core-0") == 2
    assert (cache / "mine").is_dir()
    assert not [*cache.glob("*/*/results.json")]


def test_only_what_bears_its_mark_is_removed(tmp_path: Path) -> None:
    """A folder of one's own may be called as those of the cache are, and a link may lead to one."""
    mine = tmp_path / "here/my-core-library/tests"
    mine.mkdir(parents=True)
    (mine / "results.json").write_text("{}")
    kept = tmp_path / "elsewhere/p-core-1/job"
    for place in (kept, tmp_path / "here/p-core-1/other"):
        (place / "artifacts").mkdir(parents=True)
        (place / "artifacts/result_cache.json").write_text("{}")
    (tmp_path / "here/p-core-1/job").symlink_to(kept)
    (tmp_path / "here/q-core-1").symlink_to(kept.parent)

    cleared = CliRunner().invoke(app, ["clear", str(tmp_path / "here")])

    assert cleared.stderr == "1 kept results removed.\n"
    assert (mine / "results.json").is_file()
    assert (kept / "artifacts/result_cache.json").is_file()
    assert [path.name for path in (tmp_path / "here/p-core-1").iterdir()] == ["job"]


@pytest.mark.parametrize("at", range(5))
def test_what_is_half_cleared_is_no_result_and_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    kept = tmp_path / "p-core-1/job"
    (kept / "artifacts/more").mkdir(parents=True)
    (kept / "work").mkdir()
    for file in ("results.json", "events.jsonl", "artifacts/result_cache.json", "artifacts/best", "work/file"):
        (kept / file).touch()
    removed, left = os.unlink, [at]

    def cut_short(*given: Any, **named: Any) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        removed(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", cut_short)
        with pytest.raises(KeyboardInterrupt):
            clear(tmp_path)
    assert (kept / "artifacts/result_cache.json").is_file()
    assert (kept / "results.json").exists() == (not at)
    clear(tmp_path)
    assert not kept.exists()


@pytest.mark.parametrize("gone", ["events.jsonl", "artifacts/best", "results.json"])
def test_what_another_command_removes_meanwhile_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    kept = tmp_path / "p-core-1/job"
    (kept / "artifacts").mkdir(parents=True)
    for file in ("results.json", "events.jsonl", "artifacts/result_cache.json", "artifacts/best"):
        (kept / file).touch()
    removed = os.unlink

    def quicker(path: Any, *given: Any, **named: Any) -> None:
        if Path(path).name == Path(gone).name:
            removed(kept / gone)
        removed(path, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", quicker)
        cleared = CliRunner().invoke(app, ["clear", str(tmp_path)])
    assert cleared.stderr == "1 kept results removed.\n"
    assert not kept.exists()
