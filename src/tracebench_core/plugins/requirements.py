"""Check what a task or trainer needs from the machine, importing nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.specs import Requirement


def unmet_requirement(requirements: Iterable[Requirement]) -> Requirement | None:
    """Return the first requirement that this machine does not meet."""
    return next((r for r in requirements if not _is_met(r)), None)


def _is_met(requirement: Requirement) -> bool:
    name = requirement.name
    match requirement.kind:
        case "module":
            return _has_module(name)
        case "command":
            return shutil.which(name) is not None
        case "env":
            return bool(os.environ.get(name))
        case "path":
            return Path(name).expanduser().exists()


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
