"""What a task or a config lets untrusted code have beside the system: folders to read, such as a tool chain in a home, and devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tracebench_core.errors import MissingRequirementError, UsageError


def granted_folders(names: Iterable[str]) -> tuple[Path, ...]:
    """Return the named folders and files in order, `~` and `$NAME` expanded; what is not on this machine is left out.

    Raises:
        UsageError: for a home folder or what holds one, and for a name that is not absolute: keys lie there.
    """
    found = (Path(os.path.expanduser(os.path.expandvars(name))) for name in dict.fromkeys(names))  # noqa: PTH111 - `Path` raises where there is no such user
    return tuple(place for place in found if _is_granted(place))


def granted_devices(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named character devices in order.

    Raises:
        MissingRequirementError: for one that is not there, or is no such device by its own, absolute name: a link or a disk.
    """
    found = tuple(dict.fromkeys(names))
    for name in found:
        why = "it is no character device by its own, absolute name"
        try:
            if Path(name).is_absolute() and stat.S_ISCHR(os.lstat(name).st_mode):
                continue
        except OSError as err:
            why = str(err.strerror)
        raise MissingRequirementError(f"`{name}` cannot be given to a command: {why}.", hint=f"ls -l {name}")
    return found


def _is_granted(place: Path) -> bool:
    """Tell whether a place is here; raises UsageError for one that nobody may read."""
    if not place.is_absolute():
        raise UsageError(
            f"`{place}` cannot be made readable in the sandbox: it is not an absolute path.",
            hint=f'write it as "{Path.cwd() / place}"',
        )
    if not os.path.exists(place):  # noqa: PTH110 - a path too long, or with a NUL, is none
        return False
    real, home = place.resolve(), Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - as above
    if real == home or real in home.parents:
        raise UsageError(
            f"`{place}` cannot be made readable in the sandbox: the home folder, with its keys, lies in it.",
            hint=f'name the folder that is needed, such as "{home / ".elan"}"',
        )
    return True
