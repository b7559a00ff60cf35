"""The one counted layer through which every file operation of the store goes: whole files, appended lines, folders.

A whole file appears under its name complete or not at all. An appended line may be torn by a crash; the next writer starts on a new
line, and readers skip and count what does not parse. Tests install a `FileSystem` that fails at a chosen operation.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tracebench_runs.storage import sharing
from tracebench_runs.storage.regular import open_regular, read_whole

TEMPORARY_SUFFIX = ".tmp"
FLUSHES_AT_ONCE = 16
_numbers = count()


class FileSystem:
    """The primitive operations. Subclassed only by tests that crash at one of them."""

    def open(self, path: Path, flags: int, *, private: bool = False) -> int:
        return sharing.open_file(path, flags, private=private)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)  # noqa: PTH105 - the primitive itself

    def mkdir(self, path: Path) -> None:
        sharing.make_folder(path)

    def unlink(self, path: Path) -> None:
        os.unlink(path)  # noqa: PTH108 - the primitive itself

    def boot_id(self) -> str:
        """Return what changes whenever the machine starts, or nothing where that is not told."""
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return ""

    def sync_folder(self, path: Path) -> None:
        """Make the names inside a folder durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_all(self, paths: Sequence[Path]) -> None:
        """Make files' bytes and folders' names durable, side by side: file systems flush many together about as fast as one."""
        if len(paths) < 2:  # noqa: PLR2004 - one needs no company
            for path in paths:
                _sync_path(path)
        else:
            at_once = min(len(paths), FLUSHES_AT_ONCE)
            list(self._flushers.map(_sync_paths, (paths[first::at_once] for first in range(at_once))))

    @cached_property
    def _flushers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(FLUSHES_AT_ONCE, thread_name_prefix="flush")


def _sync_path(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        _sync_path(path)


_system = FileSystem()


@contextmanager
def installed(system: FileSystem) -> Iterator[FileSystem]:
    """Send all file operations of this process through `system` while the block runs."""
    global _system  # noqa: PLW0603 - the seam is process-wide by design
    before, _system = _system, system
    try:
        yield system
    finally:
        _system = before


def boot_id() -> str:
    """Return what changes whenever the machine starts: what was not flushed may be lost when it differs. Empty when not known."""
    return _system.boot_id()


def make_dir(path: Path) -> None:
    """Create a folder and its missing parents; an existing one is fine."""
    make_new_dir(path)


def make_new_dir(path: Path) -> bool:
    """Create a folder and its missing parents; return whether it is new."""
    try:
        _system.mkdir(path)
    except FileExistsError:
        if not path.is_dir():
            raise
        return False
    except FileNotFoundError:
        make_dir(path.parent)
        return make_new_dir(path)
    return True


def write_whole(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    durable: bool = False,
    private: bool = False,
) -> None:
    """Put `data` under `path`, whole or not at all; chunks of an iterable are written as they come.

    The bytes go to a temporary name in the same folder, which is then renamed. With `durable` the file is flushed to disk before the
    rename and the folder after it, so that the file survives a power cut once this returns. With `private` its owner alone reads it,
    whoever else may read the folder.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_numbers)}{TEMPORARY_SUFFIX}")
    try:
        fd = _system.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, private=private)
        try:
            for chunk in (data,) if isinstance(data, bytes) else data:
                _write_all(fd, chunk)
            if durable:
                _system.fsync(fd)
        finally:
            _system.close(fd)
        _system.replace(temporary, path)
    except Exception:
        with suppress(OSError):
            remove(temporary)
        raise
    if durable:
        _system.sync_folder(path.parent)


def remove_cut_short(folder: Path, *, below: bool = True) -> None:
    """Delete the temporary files of writers that died, in `folder` and, with `below`, in all its folders: nobody else may write there."""
    for place, folders, names in os.walk(folder):
        for name in names:
            if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
                remove(Path(place, name))
        if not below:
            folders.clear()


def remove(path: Path) -> None:
    """Delete a file; a missing one is fine."""
    try:
        _system.unlink(path)
    except FileNotFoundError:
        return


def move(source: Path, target: Path) -> None:
    """Rename a file or folder within one file system."""
    _system.replace(source, target)


def sync_folder(path: Path) -> None:
    """Make the names inside a folder durable."""
    _system.sync_folder(path)


def sync_all(paths: Sequence[Path]) -> None:
    """Make existing files' bytes and existing folders' names durable, together."""
    _system.sync_all(paths)


def sync_file(path: Path) -> None:
    """Make the bytes of an existing file durable."""
    fd = _system.open(path, os.O_RDONLY)
    try:
        _system.fsync(fd)
    finally:
        _system.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    written = _system.write(fd, data)
    while written < len(data):
        written += _system.write(fd, data[written:])


class AppendLog:
    """A file of lines with one writer. Opening it creates it; the first append after a torn line starts on a new line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = _system.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self._name_is_durable = False  # whoever created it may have died before its name was flushed
        self._clean = self._ends_clean()

    def append(self, line: bytes, *, durable: bool = False) -> None:
        """Append one line (without its newline) in a single write; with `durable` it survives a power cut once this returns."""
        data = line + b"\n" if self._clean else b"\n" + line + b"\n"
        self._clean = False
        _write_all(self._fd, data)
        self._clean = True
        if durable:
            self.sync()

    def mend(self) -> None:
        """End a torn last line now, without waiting for the next append."""
        if not self._clean:
            _write_all(self._fd, b"\n")
            self._clean = True

    def sync(self) -> None:
        """Make every line so far, and the file's name, survive a power cut."""
        _system.fsync(self._fd)
        if not self._name_is_durable:
            _system.sync_folder(self.path.parent)
            self._name_is_durable = True

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            _system.close(fd)

    def _ends_clean(self) -> bool:
        size = os.fstat(self._fd).st_size
        return size == 0 or os.pread(self._fd, 1, size - 1) == b"\n"


class Lines(NamedTuple):
    """The complete lines of a file, and whether its last one lacks the newline."""

    lines: list[bytes]
    torn: bool


class Tail:
    """The lines of a log that may grow: each reading goes on where the one before it ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def read(self) -> Iterator[bytes]:
        """Yield the lines that were not read yet without their newlines, holding one at a time; as `read_lines` otherwise."""
        with suppress(FileNotFoundError), open_regular(self._path) as log:
            log.seek(self._read)
            for line in log:
                self._read += len(line)
                if stripped := line.removesuffix(b"\n"):
                    yield stripped


def iter_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log without their newlines, holding one at a time; as `read_lines` otherwise."""
    return Tail(path).read()


def last_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log from its end, holding one at a time; as `read_lines` otherwise."""
    with suppress(FileNotFoundError), open_regular(path) as log:
        if not (end := os.fstat(log.fileno()).st_size):
            return
        with mmap.mmap(log.fileno(), end, access=mmap.ACCESS_READ) as data:
            while end > 0:
                start = data.rfind(b"\n", 0, end) + 1
                if start < end:
                    yield data[start:end]
                end = start - 1


def read_lines(path: Path) -> Lines:
    """Read the lines of a log without their newlines; a missing file has none. Blank lines, which repairs leave, are dropped.

    A last line without newline is included and flagged: it may be whole.
    """
    try:
        data = read_whole(path)
    except FileNotFoundError:
        return Lines([], torn=False)
    return Lines([line for line in data.split(b"\n") if line], torn=bool(data) and not data.endswith(b"\n"))
