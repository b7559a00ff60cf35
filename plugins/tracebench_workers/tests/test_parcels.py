"""What travels as a job's files, and what is refused."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracebench_workers import parcels
from tracebench_workers.parcels import ParcelError, pack, unpack


def parcel_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as made:
        for info, data in members:
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    job = tmp_path / "there" / "j"
    (job / "inner" / "empty").mkdir(parents=True)
    (job / "work").mkdir()
    (job / "work" / "left").touch()
    (job / "inner" / "a").write_bytes(b"x" * 100_000)
    return tmp_path / "there"


def test_files_and_folders_travel_and_links_stay(jobs: Path, tmp_path: Path) -> None:
    job = jobs / "j"
    (job / "absolute").symlink_to("/etc/hostname")
    (job / "dangling").symlink_to("nowhere")
    (job / "folder").symlink_to("inner")
    os.link(job / "inner" / "a", job / "second")
    os.mkfifo(job / "pipe")
    here = tmp_path / "here"
    unpack(pack(jobs, ["j", "not-there"]), here, only="j")
    found = {str(p.relative_to(here)) for p in here.rglob("*")}
    assert found == {"j", "j/inner", "j/inner/empty", "j/inner/a", "j/second"}
    assert (here / "j" / "second").read_bytes() == b"x" * 100_000
    assert not [*(tmp_path / "incoming").iterdir()]


def test_a_folder_is_the_new_one_whole(jobs: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "j").mkdir(parents=True)
    (here / "j" / "old").touch()
    unpack(pack(jobs, ["j"]), here)
    assert sorted(p.name for p in (here / "j").iterdir()) == ["inner"]


@pytest.mark.parametrize("cut", [1, 9, 10, 50, -9, -1])
def test_a_cut_parcel_is_refused_and_changes_nothing(jobs: Path, tmp_path: Path, cut: int) -> None:
    here = tmp_path / "here"
    with pytest.raises(ParcelError):
        unpack(pack(jobs, ["j"])[:cut], here)
    assert not here.exists()


@pytest.mark.parametrize(
    "data",
    [b"no parcel", b"\x1f\x8b\x08" + b"\xff" * 64, gzip.compress(b"y" * 5000), gzip.compress(b"")],
    ids=["text", "bad-stream", "no-tar", "empty"],
)
def test_what_is_no_parcel_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ParcelError):
        unpack(data, tmp_path / "here")


@pytest.mark.parametrize(
    "member",
    [
        entry("j", tarfile.SYMTYPE, "/"),
        entry("j/a", tarfile.SYMTYPE, "nowhere"),
        entry("j/a", tarfile.LNKTYPE, "j/b"),
        entry("j/a", tarfile.FIFOTYPE),
        entry("j"),
        entry("other/a"),
        entry("/j/a"),
        entry("j/../other/a"),
        entry("j/./a"),
        entry("j/" + "n" * 300),
    ],
    ids=lambda member: f"{member.name[:20]}-{member.type.decode()}",
)
def test_nothing_but_files_of_the_one_job_is_taken(tmp_path: Path, member: tarfile.TarInfo) -> None:
    here = tmp_path / "here"
    (here / "j").mkdir(parents=True)
    (here / "j" / "old").touch()
    with pytest.raises(ParcelError):
        unpack(parcel_of((entry("j/new"), b"new"), (member, b"")), here, only="j")
    assert [str(p.relative_to(here)) for p in here.rglob("*")] == ["j", "j/old"]


def test_a_parcel_that_grows_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "MOST_UNPACKED", 1 << 20)
    with pytest.raises(ParcelError, match="more than"):
        unpack(parcel_of((entry("j/a"), bytes(2 << 20))), tmp_path / "here")
    monkeypatch.setattr(parcels, "MOST_UNPACKED", 1 << 34)
    monkeypatch.setattr(parcels, "MOST_FILES", 2)
    with pytest.raises(ParcelError, match="more than"):
        unpack(parcel_of(*((entry(f"j/{i}"), b"") for i in range(3))), tmp_path / "here")


def test_a_full_disk_is_told_apart(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):  # the run's own folder cannot be made
        unpack(pack(jobs, ["j"]), tmp_path / "file" / "jobs")


def test_parcels_of_several_jobs_are_unpacked_at_the_same_time(tmp_path: Path) -> None:
    there = tmp_path / "there"
    names = [f"job{number}" for number in range(40)]
    for name in names:
        (there / name).mkdir(parents=True)
        (there / name / "results.json").write_text(name)
    parcels = {name: pack(there, [name]) for name in names}
    for _ in range(3):  # the second time in the place of what is there
        with ThreadPoolExecutor(16) as pool:
            [*pool.map(lambda name: unpack(parcels[name], tmp_path / "here", only=name), names)]
    assert {path.name: (path / "results.json").read_text() for path in (tmp_path / "here").iterdir()} == {
        name: name for name in names
    }
    assert [*tmp_path.glob("incoming/*")] == []
