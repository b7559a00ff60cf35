"""Where salts lie: those that a folder of runs shares, and each run's own copy."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.specs import Salts
from tracebench_runs.storage import files, sharing
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole

SHARED_FILE = ".salts.json"
"""In `runs_dir`, readable by its owner alone."""
_GIVEN = re.compile(rb"^salt: *['\"]?[0-9a-f]{32,}", re.MULTILINE)


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
        raise RunDirError(f"`{path}` holds no salts.", hint=shlex.join(["rm", str(path)])) from err
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
        sharing.close(path)
        return found
    drawn = path.with_name(f"{SHARED_FILE}.{os.getpid()}")
    try:
        files.make_dir(runs_dir)
        files.write_whole(drawn, _as_bytes(Salts.draw()), durable=True, private=True)
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


def write_salts(layout: RunLayout, salts: Salts) -> None:
    """Give a run its own copy, which resuming, extending and replaying it take."""
    files.make_dir(layout.meta)
    files.write_whole(layout.salts, _as_bytes(salts), durable=True, private=True)


def gives_away(layout: RunLayout, file: Path, content: bytes) -> bool:
    """Say whether a file of `meta/` gives salts away: those that were drawn, or the digits that a config has them follow from."""
    return file == layout.salts or (file == layout.config_snapshot and _GIVEN.search(content) is not None)


def secrets_of(layout: RunLayout) -> list[Path]:
    """Return the files of a run that give its salts away."""
    found = []
    for file in layout.described().values():
        with suppress(OSError):
            if gives_away(layout, file, read_whole(file)):
                found.append(file)
    return [*found, layout.mirror] if found else []


def close_secrets(layout: RunLayout) -> None:
    """Make what gives a run's salts away its owner's alone, where a hand or an earlier version shared it."""
    for path in secrets_of(layout):
        sharing.close(path)


def _as_bytes(salts: Salts) -> bytes:
    return f"{salts.model_dump_json(indent=2)}\n".encode()
