"""The folder of a site that is published once more: nobody's other files are written over, and no run of a site is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError, UsageError
from tracebench_viewer.publishing.command import _demand_folder, _demand_names
from tracebench_viewer.publishing.site import MARK


@pytest.mark.parametrize("held", ["no JSON", "[]", "{}", '{"runs": 3}', "", None])
def test_a_folder_that_is_no_site_of_ours_is_refused(tmp_path: Path, held: str | None) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    if held is not None:
        (out / MARK).parent.mkdir(parents=True, exist_ok=True)
        (out / MARK).write_text(held)
    with pytest.raises(RunDirError, match="is no site that `publish` wrote") as caught:
        _demand_folder(out, [tmp_path / "a"])
    assert f"{out}-2" in str(caught.value.hint)


def test_a_site_is_written_anew_with_every_run_that_it_holds_and_with_no_fewer(tmp_path: Path) -> None:
    out = tmp_path / "site"
    (out / MARK).parent.mkdir(parents=True)
    (out / MARK).write_text(json.dumps({"runs": ["a", "b"]}))
    _demand_folder(out, [tmp_path / name for name in ("b", "c", "a")])
    with pytest.raises(RunDirError, match="holds `b`, which is not named") as caught:
        _demand_folder(out, [tmp_path / "a"])
    assert str(tmp_path / "b") in str(caught.value.hint)


def test_a_folder_that_is_empty_or_not_there_is_taken(tmp_path: Path) -> None:
    _demand_folder(tmp_path / "new", [tmp_path / "a"])
    (tmp_path / "empty").mkdir()
    _demand_folder(tmp_path / "empty", [tmp_path / "a"])


def test_two_runs_of_one_name_are_told_by_it_also_where_one_is_the_folder_that_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/run", "b/run", "b/other"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "b/run")
    _demand_names([Path(), tmp_path / "b/run", tmp_path / "b/other"])
    for folders in ([tmp_path / "a/run", Path()], [tmp_path / "a/run", tmp_path / "b/other", tmp_path / "b/run"]):
        with pytest.raises(
            UsageError, match="are both called `run`: their pages would have the same address"
        ) as caught:
            _demand_names(folders)
        assert caught.value.hint == f"trace-bench publish {folders[-1]} -o site-b"
