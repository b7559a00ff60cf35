"""A run that exists: extended, refused with another config, moved, and continued with other versions."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_core.errors import RunDirError
from tracebench_engine import api
from tracebench_engine.checks.doctor import diagnose
from tracebench_engine.config import parse_config
from tracebench_engine.run.continuing import Extend
from tracebench_runs.check.fsck import check_run
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.journal.journal import Journal
from tracebench_runs.meta.manifest import iter_job_lines, read_head, write_manifest_lines
from tracebench_runs.meta.salt_files import SHARED_FILE, shared_salts
from tracebench_runs.storage.layout import RunLayout


def run(runs: Path, *, extend: Extend = False, limit: int | None = None, **changes: Any) -> api.RunSummary:
    config = {
        "mode": "stub",
        "run_id": "mine",
        "runs_dir": str(runs),
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "RandomSearch", "params": {"num_steps": 1}}],
        "seeds": [1],
    }
    return api.run(parse_config(config | changes), extend=extend, limit=limit, stream=io.StringIO())


@pytest.fixture(autouse=True)
def _apart(runtime_dir: Path) -> None:
    pass


def test_another_config_is_refused_with_its_difference_and_extends_when_told(tmp_path: Path) -> None:
    first = run(tmp_path)
    (job,) = api.load_run(first.run_dir).planned
    result = RunLayout(first.run_dir).job(job.job_id).results
    before = result.read_bytes()
    with pytest.raises(RunDirError, match=r"another config: `seeds`: \[1\] -> \[2\]") as caught:
        run(tmp_path, seeds=[2])
    assert "--extend" in caught.value.hint
    extended = run(tmp_path, seeds=[2], extend=True)
    assert extended.counts == {"ok": 2}
    assert [j.seed for j in api.load_run(first.run_dir).planned] == [1, 2]
    assert result.read_bytes() == before
    assert check_run(first.run_dir) == []


def test_seeds_alone_are_added_to_what_the_run_has_and_not_to_what_a_limit_left_out(tmp_path: Path) -> None:
    config = {
        "tasks": ["internal:numeric_param", "internal:multi_param"],
        "trainers": ["NoOp", {"id": "RandomSearch", "params": {"num_steps": 1}}],
    }
    first = run(tmp_path, limit=3, **config, seeds=[1, 2])
    for further in (3, 4):  # twice, so that what was added once does not count as left out
        run(tmp_path, extend="seeds", **config, seeds=[*range(1, further + 1)])

    planned = [(job.task_id, job.trainer_id, job.seed) for job in api.load_run(first.run_dir).planned]
    assert sorted(planned) == [
        *(("internal:numeric_param", "NoOp", seed) for seed in (1, 2, 3, 4)),
        *(("internal:numeric_param", "RandomSearch", seed) for seed in (1, 3, 4)),
    ]


@pytest.mark.parametrize("changes", [{"trainers": ["NoOp"]}, {"seeds": [2, 3]}, {"budget": {"evaluations": 3}}])
def test_seeds_alone_are_not_added_by_a_config_that_lacks_jobs_of_the_run(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    run(tmp_path)
    with pytest.raises(RunDirError, match=r"1 of 1 jobs .* `RandomSearch` on `internal:numeric_param` with seed 1"):
        run(tmp_path, extend="seeds", **({"seeds": [1, 2]} | changes))


def test_the_same_config_goes_on_and_changes_no_description(tmp_path: Path) -> None:
    first = run(tmp_path)
    meta = {path: path.read_bytes() for path in RunLayout(first.run_dir).described().values() if path.exists()}
    assert run(tmp_path, max_workers=2).counts == {"ok": 1}
    assert {path: path.read_bytes() for path in meta} == meta


def test_a_run_is_moved_renamed_resumed_and_found_sound(tmp_path: Path) -> None:
    first = run(tmp_path / "here")
    moved = tmp_path / "there" / "renamed"
    moved.parent.mkdir()
    shutil.move(first.run_dir, moved)
    assert check_run(moved) == []
    assert api.resume(moved, stream=io.StringIO()).counts == {"ok": 1}
    assert check_run(moved) == []
    assert api.load_run(moved).run_id == "mine"


def test_results_that_cannot_be_compared_any_more_are_not_mixed(tmp_path: Path) -> None:
    layout = RunLayout(run(tmp_path).run_dir)
    planned_with(layout, comparability=99)
    with pytest.raises(RunDirError, match="comparability version"):
        api.resume(layout.path, stream=io.StringIO())


def test_a_job_says_which_version_it_ran_with(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    layout = RunLayout(run(tmp_path).run_dir)
    (job,) = api.load_run(layout.path).planned
    planned_with(layout, plugin_version="other 0.0.1")
    run(tmp_path, seeds=[1, 2], extend=True)
    done = api.load_run(layout.path)
    assert "planned with other 0.0.1, running with" in caplog.text
    assert {r.versions["plugin"] for r in done.results.values()} == {job.plugin_version}


@pytest.mark.heavy("record")
def test_a_run_is_upgraded_extended_moved_and_resumed(tmp_path: Path) -> None:
    first = RunLayout(run(tmp_path / "here").run_dir)
    (one,) = api.load_run(first.path).planned
    before = first.job(one.job_id).results.read_bytes()
    planned_with(first, plugin_version="other 0.0.1")
    assert run(tmp_path / "here", seeds=[1, 2], extend=True).counts == {"ok": 2}
    (tmp_path / "there").mkdir()
    shutil.move(first.path, moved := tmp_path / "there" / "renamed")
    assert api.resume(moved, stream=io.StringIO()).counts == {"ok": 2}
    there = api.load_run(moved)
    assert there.layout.job(one.job_id).results.read_bytes() == before
    assert there.run_id == "mine"
    assert {result.versions["plugin"] for result in there.results.values()} == {one.plugin_version}
    assert [f for f in check_run(moved) if f.mended_by != "nothing"] == []


def planned_with(layout: RunLayout, **changes: Any) -> None:
    """Make the run one that another version planned."""
    lines = []
    for line in iter_job_lines(layout):
        job = json.loads(line)
        if "comparability" in changes:
            job["task_version"]["comparability"] = changes["comparability"]
        else:
            job |= changes
        lines.append(json.dumps(job).encode())
    head = {k: v for k, v in read_head(layout).items() if k not in {"format_version", "run_id"}}
    write_manifest_lines(layout, head, lines)
    with Journal(layout) as journal:
        declare_meta(layout, journal)


@pytest.mark.parametrize(("share", "file", "folder"), [("group", 0o640, 0o2750), ("world", 0o644, 0o2755)])
def test_a_run_is_shared_when_its_config_says_so_whatever_the_umask(
    tmp_path: Path, share: str, file: int, folder: int
) -> None:
    before = os.umask(0o077)
    try:
        layout = RunLayout(run(tmp_path, share=share, llm={"record": True}).run_dir)
    finally:
        os.umask(before)
    everything = [layout.path, *layout.path.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in everything if path.is_dir()} == {folder}
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in everything if path.is_file()}
    assert {name for name, mode in modes.items() if mode != file} == {"template.log"}  # what processes complain of


@pytest.mark.parametrize("run_id", one_in(2, [None, "named"]))
def test_a_private_run_stays_so_below_a_shared_folder_and_doctor_tells_of_others(
    tmp_path: Path, run_id: str | None
) -> None:
    tmp_path.chmod(0o2775)
    layout = RunLayout(run(tmp_path, run_id=run_id, salt=None).run_dir)
    assert stat.S_IMODE(layout.path.stat().st_mode) == 0o700
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (layout.results_csv, layout.manifest, *layout.journals())}
    assert modes == {0o600}

    salts = layout.path.parent / SHARED_FILE
    assert shared_salts(salts.parent, draw=True)
    assert stat.S_IMODE(salts.stat().st_mode) == 0o600
    config = parse_config({"runs_dir": str(salts.parent)})
    assert next(row for row in diagnose(config) if row.name == "private").ok
    salts.chmod(0o644)
    layout.path.chmod(0o2755)
    row = next(row for row in diagnose(config) if row.name == "private")
    assert (row.ok, row.hint) == (False, f"chmod 600 {salts}")
    assert f"`{layout.path.name}` can be read by everybody" in row.value
    shared_salts(salts.parent, draw=True)
    assert stat.S_IMODE(salts.stat().st_mode) == 0o600


def test_a_run_directory_is_private(tmp_path: Path) -> None:
    layout = RunLayout(run(tmp_path).run_dir)
    assert stat.S_IMODE(layout.path.stat().st_mode) == 0o700
    files = (layout.results_csv, layout.manifest, *layout.journals())
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
