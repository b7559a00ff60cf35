"""A folder that a run and a worker both see: the worker's jobs write into a part of it, and the run takes what has ended by a rename.

Neither side believes the other: each finds what the other has written there. What a worker writes that was given up, and does not know it
yet, lies in its own part, which nobody takes anything from any more.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_core.errors import MissingRequirementError, quoted
from tracebench_engine.api.records import RunLayout

_libc = ctypes.CDLL(None, use_errno=True)
_HERE, _EXCHANGE = -100, 2
"""renameat2(2): `AT_FDCWD`, `RENAME_EXCHANGE`."""
PROOF, ANSWER = "proof", "seen"
SEEN_SECONDS = 6.0
"""What a network file system may take until one machine sees what another has written."""
LEFT_BEHIND = "work"
"""The folder in which a job's process works; it goes with the process."""


class NotSharedError(Exception):
    """The run and a worker do not see the same folder, or no longer."""


class FolderGoneError(MissingRequirementError):
    """A worker no longer sees the folder that it shared with its run. It ends: jobs that it took would be lost one after the other."""


class Ground:
    """The run's side."""

    def __init__(self, run_dir: Path) -> None:
        """Make the folder.

        Raises:
            OSError: when it cannot be made.
        """
        layout = RunLayout(run_dir)
        self._jobs = layout.jobs.absolute()
        self._path = layout.incoming.absolute() / secrets.token_hex(8)
        self._proof = secrets.token_hex(32)
        _make_like(layout.incoming, run_dir)
        _make_like(self._path, run_dir)
        _write(self._path / PROOF, self._proof)

    def offer(self) -> dict[str, str]:
        """Return what a worker is told of it."""
        return {"path": str(self._path), "jobs": str(self._jobs)}

    def is_seen_by(self, session: str, answer: str) -> bool:
        """Say whether a worker that says so has read what lies here, and whether what it wrote is here."""
        if answer != self._proof or not session.isalnum():
            return False
        until = time.monotonic() + SEEN_SECONDS
        while True:
            with suppress(OSError):
                if (self._path / session / ANSWER).read_text(encoding="ascii") == self._proof:
                    return True
            if time.monotonic() > until:
                return False
            time.sleep(0.1)

    def take(self, session: str, job_id: str) -> None:
        """Put what a worker has of a job in the place of what the run has: the one or the other, never both.

        Raises:
            NotSharedError: when it is not there.
            OSError: when it cannot be put there.
        """
        theirs, ours = self._path / session / "jobs" / job_id, self._jobs / job_id
        try:
            if not stat.S_ISDIR(theirs.lstat().st_mode):
                raise NotSharedError(f"`{job_id}` of the shared folder is no folder")
        except FileNotFoundError:
            raise NotSharedError("the shared folder has none of its files") from None
        put(theirs, ours)

    def close(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self._path, ignore_errors=True)
        with suppress(OSError):
            self._path.parent.rmdir()


class Corner:
    """A worker's part of it."""

    def __init__(self, offer: dict[str, str], session: str) -> None:
        """Make it.

        Raises:
            NotSharedError: when the run's folder is not here.
        """
        ground = Path(offer["path"])
        self._theirs = Path(offer["jobs"])
        self.path = ground / session
        """Like a run directory: it has a folder `jobs`."""
        try:
            self.proof = (ground / PROOF).read_text(encoding="ascii")
            _make_like(self.path, ground)
            _make_like(self.path / "jobs", ground)
            _write(self.path / ANSWER, self.proof)
            self._id = self._found()
        except (OSError, ValueError) as err:
            raise NotSharedError(f"`{ground}` cannot be used here: {err}") from err

    def demand(self) -> None:
        """Go on where the folder is still the one that it was.

        Raises:
            FolderGoneError: where it is not.
        """
        with suppress(OSError):
            if self._found() == self._id:
                return
        raise FolderGoneError(
            f"The folder that this worker shared with its run is gone: `{self.path.parent}`.",
            hint=f"ls {quoted(self.path.parents[2])}",
        )

    def copy(self, job_ids: Iterable[str]) -> None:
        """Copy jobs that the run has, those that there are: what is changed here is not to be changed there.

        Raises:
            NotSharedError: for what is no name of a job.
            OSError: when that cannot be done.
        """
        for job_id in job_ids:
            if job_id in {"", ".", ".."} or "/" in job_id:
                raise NotSharedError(f"the run names a job `{job_id}`")
            place = self.path / "jobs" / job_id
            shutil.rmtree(place, ignore_errors=True)
            with suppress(FileNotFoundError):
                if not (self._theirs / job_id).is_symlink():
                    shutil.copytree(self._theirs / job_id, place, symlinks=True, ignore=_not_the_work)

    def close(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _found(self) -> tuple[int, int, int]:
        found, proof = self.path.stat(), (self.path / ANSWER).stat()
        return found.st_dev, found.st_ino, proof.st_ino


def put(folder: Path, place: Path) -> None:
    """Put a folder in the place of another, in one step, and remove that one. Nothing is flushed: whoever declares a job finished does.

    Raises:
        OSError: when it cannot be done.
    """
    try:
        folder.rename(place)  # there is none yet, or an empty one
    except OSError as err:
        if err.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        _exchange(folder, place)
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> None:
    if not _libc.renameat2(_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE):
        return
    number = ctypes.get_errno()
    if number not in {errno.EINVAL, errno.ENOSYS}:
        raise OSError(number, os.strerror(number), str(other))
    aside = one.with_name(f"{one.name}.old")  # a file system that cannot exchange, such as NFS
    shutil.rmtree(aside, ignore_errors=True)
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def _not_the_work(folder: Any, names: list[str]) -> set[str]:
    is_job = Path(folder).parent.name == "jobs"
    return {LEFT_BEHIND} & {*names} if is_job else set()


def _make_like(folder: Path, model: Path) -> None:
    folder.mkdir(exist_ok=True)
    folder.chmod(stat.S_IMODE(model.stat().st_mode))


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
