"""What an agent that is installed on this machine needs inside of an image: its files, its interpreter, and the libraries of both.

They lie below the image's own files and in their own places, so that nothing of the image is replaced: where the image has a library of
its own, that one is used, and where it has none, as on musl, this machine's is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tracebench_terminalbench.oci.mapped import FIRST, has_range

_SYSTEM = frozenset(map(Path, ("/", "/usr", "/usr/bin", "/usr/lib", "/bin", "/lib")))
"""Folders of which only what is asked for is taken."""
_ENV = "/usr/bin/env"
"""By which scripts name their interpreter."""
_ELF = b"\x7fELF"
_AT_A_TIME = 200
_LIBRARY = re.compile(r"\s(/\S+) \(0x")


def fingerprint(paths: Sequence[str]) -> str:
    """Return a digest of what lies at the paths: names, sizes and times, so that an agent that is installed anew is another."""
    rows = [
        (str(path), (state := path.lstat()).st_size, state.st_mtime_ns)
        for path in sorted(_files(_taken(map(Path, paths))))
    ]
    return hashlib.sha256(json.dumps(rows).encode("utf-8", "backslashreplace")).hexdigest()


def gather(paths: Sequence[str], root: Path) -> None:
    """Place everything below `root` as it lies on this machine: linked where it can be, which costs no room."""
    taken = [*_files(_taken(map(Path, [*paths, _ENV])))]
    for path in taken:
        _place(path, root / path.relative_to("/"))
    for library in sorted(_libraries(path for path in taken if _is_program(path))):
        _place(library.resolve(), root / (library.parent.resolve() / library.name).relative_to("/"))
    for name in ("lib", "lib64"):
        here = Path("/", name)
        if here.is_symlink() and not (root / name).exists():
            (root / name).symlink_to(here.readlink())
    if has_range():
        for folder, _, _ in os.walk(root.parent):  # not the files, which are this machine's own
            os.chown(folder, FIRST, FIRST)


def _taken(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths; of the system's own folders the Python's of the programs that are named in them."""
    kept = [*paths]
    for path in kept:
        if path not in _SYSTEM:
            yield path
        elif path.name == "lib":
            names = {other.name for other in kept if other.parent.name == "bin"}
            yield from (place for place in path.glob("python3.*") if place.name in names)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        inner = [path]
        if path.is_dir() and not path.is_symlink():
            inner = [Path(place, name) for place, folders, names in os.walk(path) for name in (*folders, *names)]
        for file in inner:
            if file not in seen and (file.is_symlink() or file.is_file()):
                seen.add(file)
                yield file


def _is_program(path: Path) -> bool:
    if path.is_symlink():
        return False
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _libraries(programs: Iterable[Path]) -> set[Path]:
    """Return the shared libraries that programs load on this machine, and the loader."""
    names, found = [*map(str, programs)], set()
    for begin in range(0, len(names), _AT_A_TIME):
        # what is linked statically makes it fail, and is told beside the others
        argv = ["ldd", *names[begin : begin + _AT_A_TIME]]
        told = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603 - on what the user installed
        found |= {Path(match) for match in _LIBRARY.findall(told.stdout)}
    return found


def _place(source: Path, target: Path) -> None:
    """Place a link as it is, and a file as a further name of it where everybody may read it, else as a copy of the sandbox's root."""
    if os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    mode = source.stat().st_mode
    if not has_range() or mode & stat.S_IROTH:
        try:
            target.hardlink_to(source)
        except OSError:  # of another file system, or too many names
            shutil.copy2(source, target)
        return
    shutil.copy2(source, target)
    os.chown(target, FIRST, FIRST)
