"""What a command writes for its user is there whole or not at all, and what was there stays until then."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.full_disk import full_disk

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import writing
from tracebench_engine.api.console.writing import put, put_new
from tracebench_engine.cli.parts import init

WRITERS = pytest.mark.parametrize("write", [put, put_new])


@pytest.fixture(params=[True, False], ids=["nameless", "named"])
def _drafts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of file systems: one that has files without a name, and one that does not."""
    if not request.param:
        monkeypatch.setattr(
            os, "O_TMPFILE", os.O_DIRECTORY
        )  # to write in a folder itself is what such a system refuses


@WRITERS
@pytest.mark.usefixtures("_drafts")
def test_of_what_the_disk_cannot_hold_no_part_is_left(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write(tmp_path / "report.html", b"x" * 100)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_drafts")
def test_what_was_there_stays_where_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"earlier")
    with full_disk(), pytest.raises(OSError, match="File too large"):
        put(path, b"x" * 100)
    assert path.read_bytes() == b"earlier"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.usefixtures("_drafts")
def test_another_takes_the_place_and_keeps_its_rights(tmp_path: Path) -> None:
    path, link = tmp_path / "report.html", tmp_path / "link.html"
    path.write_bytes(b"earlier")
    path.chmod(0o604)
    link.symlink_to("report.html")
    put(link, b"x" * 100)
    assert link.is_symlink()
    assert path.read_bytes() == b"x" * 100
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert {*tmp_path.iterdir()} == {path, link}


@pytest.mark.usefixtures("_drafts")
def test_a_link_that_leads_nowhere_leads_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    put(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"content"


def test_what_is_no_regular_file_is_written_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    put(tmp_path / "pipe", b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    with pytest.raises(IsADirectoryError):
        put(tmp_path, b"content")


def test_where_a_file_cannot_be_replaced_it_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"earlier")

    def mounted(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", mounted)
    put(path, b"content")
    assert path.read_bytes() == b"content"
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.usefixtures("_drafts")
@pytest.mark.parametrize("there", ["file", "folder", "link"])
def test_what_is_new_takes_no_place(tmp_path: Path, there: str) -> None:
    path = tmp_path / "new.yaml"
    if there == "file":
        path.write_bytes(b"mine")
    elif there == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        put_new(path, b"content")
    assert [*tmp_path.iterdir()] == [path]
    put_new(tmp_path / "other.yaml", b"content")
    assert (tmp_path / "other.yaml").read_bytes() == b"content"


def test_of_two_that_write_what_is_new_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, linked = tmp_path / "new.yaml", writing._link

    def later(draft: str, place: Path) -> None:
        path.write_bytes(b"the other's")
        linked(draft, place)

    monkeypatch.setattr(writing, "_link", later)
    with pytest.raises(FileExistsError):
        put_new(path, b"mine")
    assert path.read_bytes() == b"the other's"


@WRITERS
def test_a_file_system_without_links_gets_the_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, bytes], None]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(writing, "_link", refused)
    write(tmp_path / "new.yaml", b"content")
    assert (tmp_path / "new.yaml").read_bytes() == b"content"


@pytest.mark.parametrize("ends", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_of_a_package_that_was_cut_short_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: BaseException | type[BaseException]
) -> None:
    written = init.put_new

    def cut_short(path: Path, content: bytes) -> None:
        if path.suffix == ".py":
            raise ends
        written(path, content)

    monkeypatch.setattr(init, "put_new", cut_short)
    with pytest.raises((KeyboardInterrupt, UsageError)):
        init.write_package(init.PackageKind.SUITE, "mine", tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_drafts")
def test_what_is_private_is_its_owners_alone(tmp_path: Path) -> None:
    put_new(tmp_path / "secret", b"content", private=True)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
