"""The files of a job on their way: packed where they lie, and unpacked so that a job's folder is the old one or the new one, never both."""

from __future__ import annotations

import ctypes
import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_HERE, _EXCHANGE = -100, 2
"""renameat2(2): `AT_FDCWD`, `RENAME_EXCHANGE`."""
LEFT_BEHIND = "work"
"""The folder in which a job's process works; it goes with the process."""


def pack(jobs: Path, job_ids: Iterable[str]) -> bytes:
    """Return the folders of some jobs, those that there are."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz", compresslevel=1) as parcel:
        for job_id in job_ids:
            if (jobs / job_id).is_dir():
                parcel.add(jobs / job_id, job_id, filter=_taken)
    return sink.getvalue()


def _taken(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name.split("/")[1:] == [LEFT_BEHIND] else member


def unpack(parcel: bytes, into: Path, *, only: str = "") -> None:
    """Unpack a parcel beside the jobs that are there, and put each of its folders in the place of the one of its name.

    `only` is the one job that may be in it; all when empty.

    Raises:
        OSError: when the disk takes no more.
        tarfile.TarError: when it is no parcel, or reaches out of its folder.
    """
    if not parcel:
        return
    draft = into.with_name(f"{into.name}.incoming")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700, parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(parcel)) as found:
            found.extractall(draft, filter="data")
        into.mkdir(exist_ok=True)
        for folder in sorted(draft.iterdir()):
            if only and folder.name != only:
                raise tarfile.TarError(f"it holds `{folder.name}`, and was to hold `{only}` alone")
            _put(folder, into / folder.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(folder: Path, place: Path) -> None:
    for root, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(root, name), "rb") as file:  # noqa: PTH118, PTH123 - many files
                os.fsync(file.fileno())
    if not place.exists():
        folder.rename(place)
    elif _libc.renameat2(_HERE, bytes(folder), _HERE, bytes(place), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "cannot be put in its place", str(place))
