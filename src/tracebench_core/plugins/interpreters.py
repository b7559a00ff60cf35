"""Interpreters that were prepared for libraries which do not live beside Trace-Bench: where they are, and whether one is ready."""

from __future__ import annotations

import os
from pathlib import Path

from tracebench_core.errors import MissingRequirementError

VARIABLE = "TRACEBENCH_PYTHONS"
READY = "trace-bench.json"
"""Written last: an interpreter without it was never finished."""


def pythons_folder() -> Path:
    """Return the folder of the named interpreters: `$TRACEBENCH_PYTHONS`, else one in the user's data folder."""
    return data_folder(VARIABLE, "pythons")


def data_folder(variable: str, name: str) -> Path:
    """Return the folder that a variable names, else one of ours in the user's data folder."""
    if given := os.environ.get(variable):
        return Path(os.path.expanduser(given))  # noqa: PTH111 - `Path.expanduser` raises where there is no such user
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(os.path.expanduser(data)) / "trace-bench" / name  # noqa: PTH111 - as above


def has_python(name: str) -> bool:
    """Tell whether a named interpreter is ready."""
    home = pythons_folder() / name
    return os.path.isfile(home / READY) and os.access(home / "bin" / "python", os.X_OK)  # noqa: PTH113 - a path too long is none


def find_python(written: str) -> str:
    """Return the path of an interpreter that is given by its path or its name.

    Raises:
        MissingRequirementError: when there is none.
    """
    if os.sep in written:
        path = Path(os.environ.get("TRACEBENCH_HOME", "."), os.path.expanduser(written))  # noqa: PTH111 - as above
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):  # noqa: PTH113 - as above
            raise MissingRequirementError(f"There is no interpreter at `{path}`.", hint="trace-bench pythons list")
        return str(path)
    if not has_python(written):
        raise MissingRequirementError(
            f"The interpreter `{written}` is not prepared.", hint=f"trace-bench pythons create {written}"
        )
    return str(pythons_folder() / written / "bin" / "python")
