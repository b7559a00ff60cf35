"""Files of a run are opened as they are: what is too large, full of holes, no file, or behind a link is told and not read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracebench_runs.storage.regular import IrregularFileError, link_above, open_regular, read_whole

MB = 1 << 20


def words(path: Path, **given: int) -> str:
    with pytest.raises(IrregularFileError) as caught:
        open_regular(path, **given)
    error = caught.value
    assert (error.errno, error.filename, error.hint) == (errno.EINVAL, str(path), "trace-bench fsck RUN --repair")
    assert str(error) == f"`{path}` cannot be read: {error.strerror}."
    return str(error.strerror)


def test_a_file_at_the_most_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 1_000)
    with open_regular(path, largest=1_000) as file:
        assert file.read() == b"x" * 1_000
    assert words(path, largest=999) == "it has 1,000 bytes, more than any file of a run"


def test_holes_are_told_from_64_mb_on_and_a_file_of_a_gigabyte_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    os.truncate(path, 64 * MB)
    open_regular(path).close()
    os.truncate(path, 64 * MB + 1)
    assert words(path) == "it consists of holes"
    os.truncate(path, 1024 * MB + 1)
    with pytest.raises(IrregularFileError, match=r"it has 1,073,741,825 bytes"):
        read_whole(path)
    assert words(path) == "it consists of holes"  # piece by piece it might be read
    os.truncate(path, 1 << 34)
    assert words(path) == "it consists of holes"
    os.truncate(path, (1 << 34) + 1)
    assert words(path) == "it has 17,179,869,185 bytes, more than any file of a run"


@pytest.mark.parametrize(("blocks", "holes"), [(1_999, True), (2_000, False), (2_001, False), (200_000, False)])
def test_a_file_of_which_the_disk_holds_a_hundredth_is_no_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, holes: bool
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    found = SimpleNamespace(st_mode=stat.S_IFREG | 0o644, st_size=2_000 * 512 * 100, st_blocks=blocks)
    monkeypatch.setattr(os, "fstat", lambda _: found)
    if holes:
        assert words(path) == "it consists of holes"
        return
    with open_regular(path) as file:
        assert file.read() == b"x"


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "f")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert words(tmp_path / "link") == "it is a link, or no file"
    assert words(tmp_path / "folder") == words(tmp_path / "pipe") == "it is no regular file"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


@pytest.mark.parametrize(
    "place",
    [
        "jobs/a/f",
        "jobs/a/artifacts/x/y/f",
        "attempts/a/blobs/f",
        "attempts/a/tb/f",
        "meta/f",
        "llm/f",
        "llm/blobs/ab/f",
    ],
)
def test_each_folder_within_a_run_may_be_no_link(place: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    path = run / place
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    assert read_whole(path) == b"x"
    for folder in [path.parent, *path.parent.parents]:
        if folder == run:
            break
        aside = tmp_path / "aside"
        folder.rename(aside)
        folder.symlink_to(aside)
        assert words(path) == f"`{folder}` is a link"
        folder.unlink()
        aside.rename(folder)
    (tmp_path / "other").symlink_to(run)
    assert read_whole(tmp_path / "other" / place) == b"x"  # the run itself may be one


def test_a_link_elsewhere_and_a_path_from_a_descriptor_are_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "f").write_bytes(b"x")
    (tmp_path / "meta").symlink_to(tmp_path / "own")
    assert link_above(str(tmp_path / "own" / "f")) == ""
    assert link_above(str(tmp_path / "meta" / "f")) == str(tmp_path / "meta")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with open_regular("meta/f", folder=fd) as file:
            assert file.read() == b"x"
    finally:
        os.close(fd)
