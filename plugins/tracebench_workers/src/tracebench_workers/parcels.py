"""The files of a job on their way: packed where they lie, and unpacked so that a job's folder is the old one or the new one, never both.

Only regular files and folders travel. A link may point at what is not there, or at what is not to be read: none is packed or taken.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.records import RunLayout
from tracebench_workers.shared import LEFT_BEHIND, put

MOST_PACKED = 1 << 32
MOST_UNPACKED = 1 << 34
"""Bytes of one parcel, packed and unpacked."""
MOST_FILES = 1 << 18
"""Files and folders of one parcel."""
OWN_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What says that this machine takes no more, and nothing of the parcel."""


class ParcelError(TraceBenchError):
    """A parcel that cannot be made of what there is, or is not what it is to be."""


def pack(jobs: Path, job_ids: Iterable[str]) -> bytes:
    """Return the folders of some jobs, those that there are.

    Raises:
        ParcelError: when a file cannot be read, or they are too large.
    """
    sink = io.BytesIO()
    try:
        with tarfile.open(fileobj=sink, mode="w:gz", compresslevel=1) as parcel:
            for job_id in job_ids:
                _pack_folder(parcel, jobs / job_id, job_id)
    except OSError as err:
        raise ParcelError(f"its files cannot be read: {err}") from err
    if sink.tell() > MOST_PACKED:
        raise ParcelError(f"its files are more than {MOST_PACKED >> 30} GiB when they are packed")
    return sink.getvalue()


def _pack_folder(parcel: tarfile.TarFile, folder: Path, name: str) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    _add(parcel, folder, name)
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        inner = f"{name}/{entry.name}"
        if entry.is_file(follow_symlinks=False):
            _add(parcel, Path(entry.path), inner)
        elif entry.is_dir(follow_symlinks=False) and inner.split("/")[1:] != [LEFT_BEHIND]:
            _pack_folder(parcel, Path(entry.path), inner)


def _add(parcel: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a folder, or a file by its own bytes (also one that has a second name)."""
    info = tarfile.TarInfo(name)
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
        if stat.S_ISDIR(found.st_mode):
            info.type = tarfile.DIRTYPE
            parcel.addfile(info)
            return
        info.size = found.st_size
        if parcel.offset + info.size > MOST_UNPACKED:
            raise ParcelError(f"its files are more than {MOST_UNPACKED >> 30} GiB")
        with open(handle, "rb", closefd=False) as file:
            parcel.addfile(info, file)
    finally:
        os.close(handle)


def unpack(parcel: bytes, into: Path, *, only: str = "") -> None:
    """Unpack a parcel beside the jobs that are there, and put each of its folders in the place of the one of its name.

    `only` is the one job that may be in it; all when empty. Nothing is put anywhere before all of it was looked at. Parcels of one job each
    may be unpacked at the same time.

    Raises:
        OSError: when the disk takes no more.
        ParcelError: when it is no parcel, is not whole, reaches out of its folder, or holds more than files and folders.
    """
    if not parcel:
        return
    draft = RunLayout(into.parent).incoming / (only or "all")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700, parents=True)
    try:
        _extract(parcel, draft, only)
        into.mkdir(exist_ok=True)
        for folder in sorted(draft.iterdir()):
            put(folder, into / folder.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class _Counted(io.RawIOBase):
    """Bytes as they are unpacked, and no more than a parcel may hold."""

    def __init__(self, parcel: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(parcel))
        self._left = MOST_UNPACKED

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ParcelError(f"it holds more than {MOST_UNPACKED >> 30} GiB")
        return data


def _extract(parcel: bytes, draft: Path, only: str) -> None:
    unpacked = _Counted(parcel)
    try:
        with tarfile.open(fileobj=unpacked, mode="r|") as found:
            for number, member in enumerate(found):
                if number >= MOST_FILES:
                    raise ParcelError(f"it holds more than {MOST_FILES} files")
                _look_at(member, only)
                found.extract(member, draft, filter="data")
        while unpacked.read(1 << 20):  # its checksum is at its end
            pass
    except OSError as err:
        if err.errno in OWN_FAULTS:
            raise
        raise ParcelError(str(err)) from err
    except (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError) as err:
        raise ParcelError(f"{type(err).__name__}: {err}") from err


def _look_at(member: tarfile.TarInfo, only: str) -> None:
    """Refuse what is no regular file or folder of a job, before it is written."""
    job, *inner = member.name.split("/")
    if only and job != only:
        raise ParcelError(f"it holds `{job}`, and was to hold `{only}` alone")
    if not {"", ".", ".."}.isdisjoint([job, *inner]):
        raise ParcelError(f"it holds the name `{member.name}`")
    if member.type not in {tarfile.REGTYPE, tarfile.DIRTYPE} or member.issparse() or not (inner or member.isdir()):
        raise ParcelError(f"`{member.name}` is no regular file or folder of a job")
