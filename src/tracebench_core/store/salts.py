"""Where salts lie: those that a folder of runs shares, and each run's own copy."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.specs import Salts
from tracebench_core.store import files
from tracebench_core.store.layout import RunLayout
from tracebench_core.store.regular import read_whole
from tracebench_core.store.sharing import PRIVATE_FILE, readers

SHARED_FILE = ".salts.json"
"""In `runs_dir`, readable by its owner alone."""


def read_salts(path: Path) -> Salts | None:
    """Return the salts of a file, None when there is no file.

    Raises:
        RunDirError: when it cannot be read, or holds none.
    """
    try:
        return Salts.model_validate_json(read_whole(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as err:  # its text would repeat what the file holds
        raise RunDirError(f"`{path}` holds no salts.", hint=f"rm {path}") from err
    except OSError as err:
        raise RunDirError(f"`{path}` cannot be read: {err.strerror}.") from err


def shared_salts(runs_dir: Path, *, draw: bool) -> Salts | None:
    """Return what the runs of a folder share; where there is none yet, draw it, or return None without `draw`.

    Of processes that draw at a time, one wins, and all return its salts.

    Raises:
        RunDirError: when the file can be neither read nor made.
    """
    path = runs_dir / SHARED_FILE
    found = read_salts(path)
    if found is not None or not draw:
        _close(path)
        return found
    drawn = path.with_name(f"{SHARED_FILE}.{os.getpid()}")
    try:
        files.make_dir(runs_dir)
        files.write_whole(drawn, _as_bytes(Salts.draw()), durable=True)
        drawn.chmod(PRIVATE_FILE)  # also where the folder is shared
        try:
            os.link(drawn, path)
        except FileExistsError:
            pass
        finally:
            drawn.unlink()
    except OSError as err:
        raise RunDirError(
            f"`{path}` cannot be made: {err.strerror}.", hint="trace-bench run --runs-dir DIR, or `salt: public`"
        ) from err
    return read_salts(path)


def _close(path: Path) -> None:
    """Make salts that others may read, in a shared folder of an earlier version, their owner's alone."""
    with suppress(OSError):  # none, or somebody else's
        if readers(path):
            path.chmod(PRIVATE_FILE)


def write_salts(layout: RunLayout, salts: Salts) -> None:
    """Give a run its own copy, which resuming, extending and replaying it take."""
    files.make_dir(layout.meta)
    files.write_whole(layout.salts, _as_bytes(salts), durable=True)


def _as_bytes(salts: Salts) -> bytes:
    return f"{salts.model_dump_json(indent=2)}\n".encode()
