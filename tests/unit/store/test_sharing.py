"""Who may read what a run writes: as many as may read its folder, whatever the umask says, and only where the folder was shared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracebench_runs.storage.sharing import Share, close, make_folder, make_root, open_file, readers

OTHERS = 0o077
MODES = {"private": (0o600, 0o700), "group": (0o640, 0o750), "world": (0o644, 0o755)}


@pytest.fixture(autouse=True, params=[0o077, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def made(path: Path, *, private: bool = False) -> int:
    os.close(open_file(path, os.O_WRONLY | os.O_CREAT, private=private))
    return mode(path)


@pytest.mark.parametrize("who", MODES)
def test_files_and_folders_are_as_readable_as_the_folder_that_they_come_into_being_in(
    tmp_path: Path, who: Share
) -> None:
    root = tmp_path / "run"
    make_root(root, who)
    make_folder(root / "job")
    make_folder(root / "job" / "inner")

    file, folder = MODES[who]
    assert [mode(root), mode(root / "job"), mode(root / "job" / "inner")] == [folder] * 3
    assert [made(root / "a"), made(root / "job" / "inner" / "b")] == [file] * 2
    assert readers(root / "a") == ("" if who == "private" else who)
    assert made(root / "key", private=True) == 0o600


def test_a_folder_that_was_not_shared_by_us_shares_nothing(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    make_folder(tmp_path / "open" / "folder")

    assert made(tmp_path / "open" / "file") & OTHERS == 0
    assert mode(tmp_path / "open" / "folder") & OTHERS == 0


def test_a_file_that_is_closed_is_its_owners_alone(tmp_path: Path) -> None:
    make_root(tmp_path / "run", "world")
    made(tmp_path / "run" / "a")
    close(tmp_path / "run" / "a")
    close(tmp_path / "run" / "not there")

    assert mode(tmp_path / "run" / "a") == 0o600
