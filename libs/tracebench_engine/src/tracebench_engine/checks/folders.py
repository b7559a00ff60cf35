"""What a folder must do to hold runs, and more so one that several machines see: each is tried there, beside another process."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tracebench_core.errors import quoted
from tracebench_engine.checks.doctor import Diagnosis

SECONDS = 20.0
"""What another process may take, on a machine that is busy."""
CLOCKS = 2.0
"""Seconds by which the folder's clock may differ from this machine's without a word."""
NAMES, LINES = 40, 200
OTHER = """
import fcntl, os, sys
what, place = sys.argv[1:3]
if what == "lock":
    with open(place) as file:
        try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError: sys.exit(1)
elif what == "names":
    for n in range(int(sys.argv[3])):
        try: os.close(os.open(f"{place}/{n}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)); print(n)
        except FileExistsError: pass
elif what == "lines":
    fd = os.open(place, os.O_WRONLY | os.O_APPEND)
    for n in range(int(sys.argv[3])): os.write(fd, f"{sys.argv[4]} {n}\\n".encode())
else:
    sys.stdout.write(open(place).read())
"""


def try_folder(folder: Path) -> Iterator[Diagnosis]:
    """Try what runs need of a folder; it is made where it is not there, and nothing is left in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".trace-bench-doctor-", dir=folder))
    except OSError as err:
        yield Diagnosis(
            "folder", ok=False, value=f"{folder}: {err.strerror}", hint=f"ls -ld {quoted(folder)}", needed=True
        )
        return
    try:
        for name, attempt, kept, hint in TRIALS:
            try:
                fault = attempt(place)
            except (OSError, subprocess.SubprocessError) as err:
                fault = f"{type(err).__name__}: {err}"
            yield Diagnosis(f"folder: {name}", ok=not fault, value=fault or kept, hint=hint, needed=name != "clock")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _other(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", OTHER, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)  # noqa: S603 - our own


def _flushed(place: Path) -> str:
    for path, flags in ((place / "flushed", os.O_WRONLY | os.O_CREAT), (place, os.O_RDONLY | os.O_DIRECTORY)):
        fd = os.open(path, flags, 0o600)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    return ""


def _replaced(place: Path) -> str:
    old, new = place / "whole", place / "new"
    old.write_text("old", encoding="ascii")
    new.write_text("new", encoding="ascii")
    new.replace(old)
    full, empty = place / "job", place / "empty"
    full.mkdir()
    (full / "file").touch()
    empty.mkdir()
    full.rename(empty)
    seen = _other("read", old).stdout
    return (
        ""
        if seen == "new" and (empty / "file").exists()
        else f"after a rename another process reads `{seen}`, not `new`"
    )


def _locked(place: Path) -> str:
    path = place / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if _other("lock", path).returncode == 0:
            return "another process takes a lock (flock) that is held here: two runners could work on one run"
    return (
        "" if _other("lock", path).returncode == 0 else "another process cannot take a lock (flock) that nobody holds"
    )


def _named_once(place: Path) -> str:
    (place / "names").mkdir()
    command = [sys.executable, "-I", "-S", "-c", OTHER, "names", str(place / "names"), str(NAMES)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # noqa: S603 - our own
    made = [line for each in both for line in each.communicate(timeout=SECONDS)[0].split()]
    return (
        ""
        if sorted(map(int, made)) == [*range(NAMES)]
        else f"two processes make {NAMES} new files (O_EXCL) {len(made)} times"
    )


def _appended(place: Path) -> str:
    path = place / "lines"
    path.touch()
    commands = [[sys.executable, "-I", "-S", "-c", OTHER, "lines", str(path), str(LINES), who] for who in "ab"]
    both = [subprocess.Popen(command) for command in commands]  # noqa: S603 - our own
    for each in both:
        each.wait(SECONDS)
    seen = sorted(_other("read", path).stdout.split("\n")[:-1])
    return (
        ""
        if seen == sorted(f"{who} {n}" for who in "ab" for n in range(LINES))
        else "lines that two processes append are lost"
    )


def _clock(place: Path) -> str:
    before = time.time()
    (place / "now").touch()
    found = (place / "now").stat().st_mtime
    apart = max(before - found, found - time.time())
    return f"it is {apart:.0f} s from this machine's; results do not depend on it" if apart > CLOCKS else ""


TRIALS: tuple[tuple[str, Callable[[Path], str], str, str], ...] = (
    ("flush", _flushed, "files and names are flushed (fsync)", "choose a folder on a local disk, NFS 4 or the like"),
    ("rename", _replaced, "a rename puts a whole file or folder in place, and others see it", "mount it with `actimeo=3` or less"),
    ("locks", _locked, "a lock keeps other processes out, and ends with its holder", "mount NFS 3 without `nolock`, or NFS 4"),
    ("new files", _named_once, "of two processes one alone makes a new file", "choose a file system with O_EXCL, such as NFS 3 or later"),
    ("appends", _appended, "no line is lost that two processes append", "choose another file system"),
    ("clock", _clock, f"within {CLOCKS:g} s of this machine's", "chronyc tracking"),
)  # fmt: skip
"""What is tried, by what, in which words, and how it is mended."""
