"""The further folders that a task or a config lets untrusted code read: a tool chain in a home, a project's libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tracebench_core.errors import UsageError


def granted_folders(names: Iterable[str]) -> tuple[Path, ...]:
    """Return the named folders and files in order, `~` and `$NAME` expanded; what is not on this machine is left out.

    Raises:
        UsageError: for a home folder or what holds one, and for a name that is not absolute: keys lie there.
    """
    found = (Path(os.path.expandvars(name)).expanduser() for name in dict.fromkeys(names))
    return tuple(place for place in found if _checked(place).exists())


def _checked(place: Path) -> Path:
    if not place.is_absolute():
        raise UsageError(
            f"`{place}` cannot be made readable in the sandbox: it is not an absolute path.",
            hint=f'write it as "{Path.cwd() / place}"',
        )
    real, home = place.resolve(), Path.home().resolve()
    if real == home or real in home.parents:
        raise UsageError(
            f"`{place}` cannot be made readable in the sandbox: the home folder, with its keys, lies in it.",
            hint=f'name the folder that is needed, such as "{home / ".elan"}"',
        )
    return place
