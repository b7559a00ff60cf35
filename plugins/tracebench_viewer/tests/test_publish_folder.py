"""The folder of a site that is published once more: nobody's other files are written over, and no run of a site is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError
from tracebench_viewer.publishing.command import _demand_folder
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
