"""Where the runs under way on this machine are found: one entry and one socket per run, in a folder of this user alone."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.ids import content_hash

LONGEST_ADDRESS = 100
"""Bytes that the path of a Unix socket may have; Linux takes 107 (unix(7))."""
PRIVATE = 0o700
WRITABLE_BY_OTHERS = 0o022


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run under way."""

    run_id: str
    run_dir: str
    """Absolute."""
    pid: int
    since: str
    """UTC time at which its runner started."""
    address: str
    """Path of its control socket."""


def control_folder() -> Path:
    """Return the folder of this user's runs, made if it is missing: in `$XDG_RUNTIME_DIR`, else in the folder for temporary files.

    Raises:
        RunDirError: when somebody else owns the folder, or may write to it; one that others may only look into is closed to them.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime) / "trace-bench" if runtime else _in_temporary()
    if len(os.fsencode(folder)) > LONGEST_ADDRESS - len("/0123456789abcdef.sock"):
        folder = _in_temporary()
    try:
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        found = folder.lstat()
    except OSError as err:
        raise RunDirError(f"`{folder}` cannot be made: {err.strerror}.", hint="export XDG_RUNTIME_DIR=…") from err
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & WRITABLE_BY_OTHERS:
        raise RunDirError(f"`{folder}` is not a folder of this user alone.", hint=_elsewhere(folder))
    if stat.S_IMODE(found.st_mode) != PRIVATE:
        folder.chmod(PRIVATE)
    return folder


def entry_path(run_dir: Path) -> Path:
    """Return where the entry of a run lies."""
    return control_folder() / f"{content_hash(os.fsencode(run_dir.resolve()))[:16]}.json"


def write_entry(entry: RunEntry) -> None:
    """Announce a run."""
    path = entry_path(Path(entry.run_dir))
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(asdict(entry)))
    temporary.replace(path)


def read_entry(run_dir: Path) -> RunEntry | None:
    """Return the entry of a run, whether or not it still runs; None when there is none."""
    return _read(entry_path(run_dir))


def entries() -> Iterator[RunEntry]:
    """Yield every announced run; those whose runner died are among them."""
    for path in sorted(control_folder().glob("*.json")):
        entry = _read(path)
        if entry is not None:
            yield entry


def forget(entry: RunEntry) -> None:
    """Take an entry and its socket back."""
    for path in (entry_path(Path(entry.run_dir)), Path(entry.address)):
        with suppress(FileNotFoundError):
            path.unlink()


def _in_temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"trace-bench-{os.geteuid()}"


def _elsewhere(folder: Path) -> str:
    """Return the command that helps: what another user owns in a shared folder cannot be removed, so that one's own is named."""
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
        return f"chmod 700 {quoted(folder)}"
    return 'export XDG_RUNTIME_DIR="$HOME/.trace-bench"; mkdir -p -m 700 "$XDG_RUNTIME_DIR"'


def _read(path: Path) -> RunEntry | None:
    try:
        return RunEntry(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
