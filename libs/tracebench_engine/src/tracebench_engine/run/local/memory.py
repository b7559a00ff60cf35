"""The memory of a process as it was at some moment, and setting back what was written since.

The kernel tells which pages were written (userfaultfd(2), `UFFD_FEATURE_WP_ASYNC`; `PAGEMAP_SCAN` of proc(5), Linux 6.7), so that
only these are copied back. Every private mapping that is writable or holds pages of its own is watched; of all others it is looked up that
none has pages of its own now. What was mapped since is named, and nothing of the moment leads to it. Memory that the kernel may drop
(`MAP_DROPPABLE`, where the C library keeps random bits) cannot be watched: it is emptied, as it is in a process that is forked.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tracebench_engine.job import kernel
from tracebench_engine.run.local.hold import NotSetBackError

PAGE = 4096
MOST_PAGES = 1 << 16
"""Of a process that is set back: 256 MB. The copy is in its template's memory."""
API, REGISTER, SCAN = 0xC018AA3F, 0xC020AA00, 0xC0606610
WATCHING = 1 << 15 | 1 << 13
"""`UFFD_FEATURE_WP_ASYNC`, and `UFFD_FEATURE_WP_UNPOPULATED`, without which no mapping is scanned as watched."""
WATCHED, WRITTEN, IN_FILE, PRESENT, SWAPPED = 1, 2, 4, 8, 16
"""Categories of pages."""
PROTECT = 1
REGIONS = 1 << 14
"""That one scan tells of."""
VECTORS = 1024
"""`IOV_MAX`."""
USER_SPACE = (1 << 47) - PAGE if os.uname().machine == "x86_64" else 1 << 48
PORTION = 64 * PAGE
ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
FAILED = (1 << 64) - 1
VECTOR = struct.Struct("=QQ")
"""`iovec`: address and length."""
DROPPABLE = b" dp"
"""In `VmFlags` of `smaps`."""
LAZY_NOTHING = b"LazyFree:              0 kB"
Region = tuple[int, int, int]
"""Start, end, categories."""
OF_THE_KERNEL = ("[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mmap.restype = ctypes.c_void_p
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
for _call in (_libc.process_vm_readv, _libc.process_vm_writev):
    _call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong]
    _call.restype = ctypes.c_ssize_t


class Mapping(NamedTuple):
    """A line of a process's map."""

    start: int
    end: int
    rights: str
    number: int
    """Of the file that is mapped, 0 where none is."""
    name: str

    @property
    def is_shared(self) -> bool:
        """Whether it is written in common with others."""
        return self.rights[1] == "w" and self.rights[3] == "s"


class Kept:
    """Pages that are kept, in memory that no forked process gets: it is given up by `close` alone, and never in one of those."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self._starts: list[int] = []
        self._places: list[tuple[int, int]] = []
        """Of each region its end, and where its first page is kept."""
        self._size = sum(end - start for start, end, _ in regions) or PAGE
        self._memory = _libc.mmap(None, self._size, mmap.PROT_READ | mmap.PROT_WRITE, ANONYMOUS, -1, 0)
        if self._memory in {None, FAILED}:
            raise NotSetBackError("there is no memory to keep its own in")
        for advice in (mmap.MADV_DONTFORK, mmap.MADV_HUGEPAGE):
            _libc.madvise(self._memory, self._size, advice)
        at = self._memory
        for start, end, _ in regions:
            self._starts.append(start)
            self._places.append((end, at))
            at += end - start

    def close(self) -> None:
        """Keep them no longer."""
        _libc.munmap(self._memory, self._size)

    def fill(self, pid: int) -> None:
        """Read the pages from a process."""
        for start, (end, at) in zip(self._starts, self._places, strict=True):
            _copy(_libc.process_vm_readv, pid, VECTOR.pack(at, end - start), VECTOR.pack(start, end - start))

    def where(self, page: int) -> int | None:
        """Return the address here of what is kept of a page; None where nothing is."""
        at = bisect_right(self._starts, page) - 1
        if at < 0 or page >= self._places[at][0]:
            return None
        return self._places[at][1] + page - self._starts[at]

    def differing(self, pid: int, regions: Iterable[Region]) -> list[Region]:
        """Return the pages of a process of which other content is kept, or none."""
        scratch = ctypes.create_string_buffer(PORTION)
        here = ctypes.addressof(scratch)
        found: list[Region] = []
        for start, end, _ in regions:
            for first in range(start, end, PORTION):
                size = min(PORTION, end - first)
                _copy(_libc.process_vm_readv, pid, VECTOR.pack(here, size), VECTOR.pack(first, size))
                for page in range(first, first + size, PAGE):
                    there = self.where(page)
                    if there is None or _libc.memcmp(there, here + page - first, PAGE):
                        found.append((page, page + PAGE, 0))
        return found


@dataclass(slots=True)
class Base:
    """What the processes that were forked from one have in common, kept once."""

    pages: Kept | None = None


class Image:
    """A held process's memory at the moment of its making."""

    def __init__(self, pid: int, watcher: int, base: Base) -> None:
        """`watcher`: a userfaultfd that the process itself has made.

        Raises:
            NotSetBackError: when it cannot be watched: the kernel is older, memory is shared, or there is too much of it.
        """
        self._pid = pid
        self._lazily_freed = _lazily_freed()
        self._own: Kept | None = None
        self._base: Kept | None = None
        self._droppable: list[Region] = []
        self._map = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        try:
            of_files = self._watch(watcher)
            self._lines = frozenset(_lines(pid))
            self._present = _joined([*self._regions(WATCHED, anyof=PRESENT | SWAPPED), *of_files])
            self._held = self._own_watched()
            self._elsewhere = self._own_elsewhere()
            self._written: list[Region] = []
            self._copies: list[tuple[bytes, bytes]] = []
            self._own = self._keep(base)
            self._base = base.pages
            self._protect()
        except BaseException:
            self.close()
            raise

    def close(self, *, forget: bool = True) -> None:
        """Close what leads to the process, and forget it."""
        os.close(self._map)
        if forget and self._own is not None:
            self._own.close()

    def set_back(self) -> list[Mapping]:
        """Set back what was written since, and return the mappings that were added; the process is held.

        Raises:
            NotSetBackError: when mappings of the moment have changed, or pages are written that are not watched.
        """
        lines = _lines(self._pid)
        added = [_mapping(line) for line in lines if line not in self._lines]
        if len(lines) - len(added) != len(self._lines):
            gone = sorted(self._lines.difference(lines))
            raise NotSetBackError(f"its memory is mapped otherwise: {gone[0].decode(errors='replace').strip()}")
        if any(mapping.is_shared for mapping in added):
            raise NotSetBackError("it shares memory")
        present = self._own_watched()
        if present != self._held and not _holds(present, self._held):
            raise NotSetBackError("pages of its memory were given up")
        self._empty_droppable()
        if self._own_elsewhere((mapping.start, mapping.end, 0) for mapping in added) != self._elsewhere:
            raise NotSetBackError("memory was written that nobody may write")
        self._refuse_lazily_freed()
        written = self._regions(WATCHED | WRITTEN)
        if written != self._written:
            self._written, self._copies = written, list(self._plan(written))
        for here, there in self._copies:
            _copy(_libc.process_vm_writev, self._pid, here, there)
        return added

    def _refuse_lazily_freed(self) -> None:
        """Raise where pages may vanish later, which no page tells; looked up only if any process of the machine gave some up."""
        if (count := _lazily_freed()) != self._lazily_freed:
            self._lazily_freed = count
            if LAZY_NOTHING not in kernel.read(f"/proc/{self._pid}/smaps_rollup"):
                raise NotSetBackError("memory is given up lazily")

    def _watch(self, watcher: int) -> list[Region]:
        """Watch the process's memory; return the mappings of files in it, any page of which may be written first by an order."""
        of_files: list[Region] = []
        try:
            fcntl.ioctl(watcher, API, bytearray(struct.pack("3Q", 0xAA, WATCHING, 0)))
            own = self._own_elsewhere()
        except OSError as err:
            raise NotSetBackError(f"its memory cannot be watched: {err.strerror}") from None
        for mapping in map(_mapping, _lines(self._pid)):
            if mapping.is_shared:
                raise NotSetBackError("it shares memory")
            is_own = any(start < mapping.end and end > mapping.start for start, end, _ in own)
            if mapping.rights[3] == "p" and mapping.name not in OF_THE_KERNEL and ("w" in mapping.rights or is_own):
                request = struct.pack("4Q", mapping.start, mapping.end - mapping.start, 2, 0)
                try:
                    fcntl.ioctl(watcher, REGISTER, bytearray(request))
                except OSError as err:
                    if err.errno != errno.EINVAL or not _is_droppable(self._pid, mapping):
                        raise NotSetBackError(f"its memory cannot be watched: {err.strerror}: {mapping.name}") from None
                    self._droppable.append((mapping.start, mapping.end, 0))
                    continue
                if mapping.number:
                    of_files.append((mapping.start, mapping.end, 0))
        return of_files

    def _keep(self, base: Base) -> Kept:
        """Keep the content of every watched page: what differs from the base's."""
        if sum(end - start for start, end, _ in self._present) > MOST_PAGES * PAGE:
            raise NotSetBackError("it holds more memory than is set back")
        if base.pages is None:
            base.pages = Kept(self._present)
            base.pages.fill(self._pid)
            return Kept([])
        own = Kept(_joined(base.pages.differing(self._pid, self._present)))
        own.fill(self._pid)
        return own

    def _plan(self, written: Iterable[Region]) -> Iterator[tuple[bytes, bytes]]:
        """Yield from where to where pages are copied, as many at a time as the kernel takes.

        A page that was written once is set back after each order, and its writing is not watched any more: most orders write the same.
        """
        here: list[tuple[int, int]] = []
        there: list[tuple[int, int]] = []
        for page in (page for start, end, _ in written for page in range(start, end, PAGE)):
            at = next(
                (at for kept in (self._own, self._base) if kept is not None and (at := kept.where(page))), NOTHING_AT
            )
            if here and sum(here[-1]) == at and sum(there[-1]) == page:
                here[-1], there[-1] = (here[-1][0], here[-1][1] + PAGE), (there[-1][0], there[-1][1] + PAGE)
            else:
                here.append((at, PAGE))
                there.append((page, PAGE))
        for first in range(0, len(here), VECTORS):
            last = first + VECTORS
            yield tuple(b"".join(VECTOR.pack(*vector) for vector in part[first:last]) for part in (here, there))  # type: ignore[misc]

    def _protect(self) -> None:
        self._regions(WATCHED | WRITTEN, flags=PROTECT)

    def _own_watched(self) -> list[Region]:
        """Return the watched pages that are the process's own, rather than still those of a file."""
        return _joined(self._regions(WATCHED, anyof=PRESENT | SWAPPED, without=IN_FILE))

    def _own_elsewhere(self, but: Iterable[Region] = ()) -> list[Region]:
        """Return the pages of its own that it has where nothing is watched, swapped or not, and places that were made to fail."""
        found = self._regions(0, anyof=PRESENT | SWAPPED, without=WATCHED | IN_FILE)
        left_out = _joined([*but, *self._droppable])
        return _joined(region for region in found if not _holds(left_out, [region]))

    def _empty_droppable(self) -> None:
        for start, end, _ in self._droppable:
            pages = self._regions(0, anyof=PRESENT | SWAPPED, start=start, end=end)
            for here, there in self._plan(pages):
                _copy(_libc.process_vm_writev, self._pid, here, there)

    def _regions(
        self,
        categories: int,
        *,
        anyof: int = 0,
        without: int = 0,
        flags: int = 0,
        start: int = 0,
        end: int = USER_SPACE,
    ) -> list[Region]:
        """Return where the pages of these categories are: start, end, categories."""
        found: list[Region] = []
        at = start
        while at < end:
            argument = bytearray(
                struct.pack(
                    "12Q",
                    96,
                    flags,
                    at,
                    end,
                    0,
                    _room_at,
                    REGIONS,
                    0,
                    without,
                    categories | without,
                    anyof,
                    PRESENT,
                )
            )
            count = fcntl.ioctl(self._map, SCAN, argument)
            found += struct.iter_unpack("3Q", _room[: count * 24])
            at = end if count < REGIONS else struct.unpack_from("Q", argument, 32)[0]
        return found


_nothing = ctypes.create_string_buffer(PAGE)
NOTHING_AT = ctypes.addressof(_nothing)
_room = bytearray(REGIONS * 24)
_room_at = ctypes.addressof(ctypes.c_char.from_buffer(_room))


def _copy(call: Callable[..., int], pid: int, here: bytes, there: bytes) -> None:
    """Copy between this process and another what two arrays of `iovec` name, as many bytes here as there."""
    count = len(here) // VECTOR.size
    if call(pid, here, count, there, len(there) // VECTOR.size, 0) != sum(struct.unpack(f"{2 * count}Q", here)[1::2]):
        raise NotSetBackError(f"its memory cannot be copied: {os.strerror(ctypes.get_errno())}")


def _lazily_freed() -> bytes:
    """Return how many pages were ever given up lazily on this machine (`MADV_FREE`)."""
    told = kernel.read("/proc/vmstat")
    at = told.find(b"pglazyfree ")
    return told[at : told.find(b"\n", at)]


def _lines(pid: int) -> list[bytes]:
    with Path(f"/proc/{pid}/maps").open("rb", buffering=1 << 18) as file:
        return file.read().splitlines()


def _mapping(line: bytes) -> Mapping:
    fields = line.split(None, 5)
    start, _, end = fields[0].partition(b"-")
    name = b"".join(fields[5:]).decode(errors="replace")
    return Mapping(int(start, 16), int(end, 16), fields[1].decode(), int(fields[4]), name)


def _is_droppable(pid: int, mapping: Mapping) -> bool:
    told = kernel.read(f"/proc/{pid}/smaps").partition(b"%x-%x " % mapping[:2])[2]
    at = told.find(b"VmFlags:")
    return DROPPABLE in told[at : told.find(b"\n", at)]


def _joined(ranges: Iterable[tuple[int, int, object]]) -> list[Region]:
    """Return ranges of addresses in their order, those that touch as one."""
    found: list[Region] = []
    for first, end, _ in sorted(ranges):
        if found and found[-1][1] >= first:
            start, before, _ = found.pop()
            found.append((start, max(before, end), 0))
        else:
            found.append((first, end, 0))
    return found


def _holds(outer: Sequence[Region], inner: Iterable[Region]) -> bool:
    """Tell whether each of some ranges lies within one of others, which are in their order."""
    starts = [region[0] for region in outer]
    return all((at := bisect_right(starts, start) - 1) >= 0 and end <= outer[at][1] for start, end, _ in inner)
