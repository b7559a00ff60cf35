"""Where the open bench writes: nothing that is somebody else's is written over, and no part of a bundle is left."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tracebench_core.errors import UsageError
from tracebench_open import submission
from tracebench_open.bench.command import _page_of

PARTS = {"part.zip"}


@pytest.mark.parametrize("where", [".", "..", "", "/"])
def test_a_folder_without_a_name_gives_no_page(where: str) -> None:
    with pytest.raises(UsageError, match="has no name that a page could have"):
        _page_of(Path(where), PARTS)


def test_receipts_take_the_place_of_receipts_alone(tmp_path: Path) -> None:
    to, page = tmp_path / "README", tmp_path / "README.md"
    assert _page_of(to, PARTS) == page
    page.write_text("mine")
    with pytest.raises(UsageError, match="is no page of") as told:
        _page_of(to, PARTS)
    assert told.value.hint == f"--to {to}-receipts"
    page.unlink()
    to.mkdir()
    (to / "part.zip").touch()
    assert _page_of(to, PARTS) == page, "what was cut short goes on"
    (to / "check.py").write_text("mine")
    with pytest.raises(UsageError, match="holds no receipts"):
        _page_of(to, PARTS)
    (to / "bench.json").write_text("{}")
    page.write_text("ours")
    assert _page_of(to, PARTS) == page


def test_of_a_bundle_that_was_cut_short_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    to = tmp_path / "bundle.zip"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "run").mkdir()
    (tmp_path / "run/file").touch()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(zipfile.ZipFile, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            submission._packed(to, tmp_path / "run", "{}")
    assert not to.exists()
    to.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        submission._packed(to, tmp_path / "run", "{}")
    assert to.read_text() == "mine"
    with pytest.raises(UsageError, match="cannot be written: "):
        submission._packed(to / "x.zip", tmp_path / "run", "{}")
