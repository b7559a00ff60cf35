"""Check what a task or trainer needs from the machine, importing nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tracebench_core.plugins.interpreters import has_python
from tracebench_core.specs import Requirement


def unmet_requirement(
    requirements: Iterable[Requirement], settings: Mapping[str, Any] | None = None
) -> Requirement | None:
    """Return the first requirement that this machine does not meet, leaving out those that `settings` make moot."""
    given = settings or {}
    return next((r for r in requirements if given.get(r.unless) is None and not _is_met(r)), None)


def _is_met(requirement: Requirement) -> bool:
    name = requirement.name
    match requirement.kind:
        case "module":
            return _has_module(name) or bool(requirement.python and has_python(requirement.python))
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
