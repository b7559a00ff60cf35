"""Where a Lean lies that is not of the system: what the sandbox must be able to read. Asks no program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

_ELAN = "ELAN_HOME"


def readable_places(projects: Iterable[str]) -> tuple[str, ...]:
    """Return `lean` and its prefix, elan's tool chains, and the given projects and programs, as far as they are set."""
    found = [str(Path(os.environ.get(_ELAN) or "~/.elan", "toolchains"))]
    if lean := shutil.which("lean"):
        place = Path(lean).resolve()
        prefix = place.parent.parent
        found.append(str(prefix if (prefix / "lib" / "lean").is_dir() else place))
    found += [str(Path(project).expanduser().absolute()) for project in projects if project]
    return tuple(dict.fromkeys(found))
