"""Write a file that a user asked for: it is there whole or not at all, whatever ends the command or fills the disk meanwhile."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracebench_runs.storage.drafts import draft_beside as draft_beside

_NAMED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS})
"""What a file system answers that has no files without a name."""
_UNLINKED = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV})
"""What one answers that gives a file no second name."""
_IN_PLACE = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV})
"""Why a file may be writable that cannot be replaced: its folder is not, or it is mounted."""


def put(path: Path, content: bytes) -> None:
    """Write a file, in the place of one that is there, whose rights are kept; a link leads to what is written.

    Until all of it is on the disk what was there stays. What is no regular file, such as a pipe, is written as it is.

    Raises:
        OSError: when it cannot be written.
    """
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    if before is not None:
        if not stat.S_ISREG(before.st_mode):
            path.write_bytes(content)
            return
        path.open("r+b").close()  # to replace it takes a right on its folder alone
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with _draft(place.parent, content, before) as draft:
            _link(draft, beside)
            try:
                beside.replace(place)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
    except OSError as err:
        if err.errno not in (_UNLINKED if before is None else _IN_PLACE | _UNLINKED):
            raise
        path.write_bytes(content)


def put_new(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file that is not there yet; with `private` its owner alone reads it.

    Raises:
        FileExistsError: when something is there, be it a link that leads nowhere.
        OSError: when it cannot be written.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    try:
        with _draft(path.parent, content, private=private) as draft:
            _link(draft, path)
    except OSError as err:
        if err.errno not in _UNLINKED:
            raise
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _mode(private=private)), "wb") as file:
            try:
                file.write(content)
                file.flush()
            except BaseException:
                path.unlink()
                raise


@contextmanager
def _draft(folder: Path, content: bytes, like: os.stat_result | None = None, *, private: bool = False) -> Iterator[str]:
    """Yield a path of a file with the content, which is gone with this process: it has no name, where the file system can do that."""
    named = None
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_WRONLY, _mode(private=private))
    except OSError as err:
        if err.errno not in _NAMED or not folder.is_dir():
            raise
        named = folder / f".{secrets.token_hex(6)}.part"
        fd = os.open(named, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _mode(private=private))
    try:
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(content)
        if like is not None:
            with suppress(OSError):
                os.fchown(fd, like.st_uid, like.st_gid)
            os.fchmod(fd, stat.S_IMODE(like.st_mode))
        yield str(named or f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
        if named is not None:
            named.unlink(missing_ok=True)


def _link(draft: str, path: Path) -> None:
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        os.link(draft, path.name, dst_dir_fd=folder, follow_symlinks=True)  # with a folder's number alone it follows
    finally:
        os.close(folder)


def _mode(*, private: bool) -> int:
    return 0o600 if private else 0o666
