"""Which packages are kept away from untrusted code: read from the metadata of what is installed, nothing is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from tracebench_core.forwarding import LIBRARIES
from tracebench_sandbox.reach import is_site

_GROUP = "tracebench"


def hidden_packages(path: Sequence[str]) -> list[str]:
    """Return the top-level names of our libraries and of every distribution on `path` that has an entry point of ours."""
    sites = [entry for entry in path if is_site(Path(entry))]
    found = {*LIBRARIES}
    for distribution in metadata.distributions(path=sites):
        points = [point for point in distribution.entry_points if point.group == _GROUP]
        if points:
            found.update(point.value.partition(":")[0].partition(".")[0].strip() for point in points)
            found.update(_top(str(file)) for file in distribution.files or ())
    return sorted(found - {""})


def _top(file: str) -> str:
    """Return the name that a file of a distribution is imported by; empty for what is no code."""
    first, _, rest = file.partition(os.sep)
    if rest:
        return "" if "." in first else first
    return first.removesuffix(".py") if first.endswith(".py") else ""
