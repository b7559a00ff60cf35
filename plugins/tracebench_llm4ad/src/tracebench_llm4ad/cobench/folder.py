"""Where the data of CO-Bench are: a folder with one sub-folder of text files for each task, as the data set has it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Requirement

GENERATED = "generated v1"
"""What results call the cases that are made in memory where no folder is named; the number rises when a generator changes."""
VARIABLE = "TRACEBENCH_COBENCH_DATA"
MAKE = "python -m tracebench_llm4ad.cobench cobench-data"
MEND = f"{MAKE} && export {VARIABLE}=$PWD/cobench-data  # small generated instances; --download: the data set"
SUFFIXES = frozenset({"", ".txt", ".col", ".tsp", ".dat", ".json"})

_configured: dict[str, Path] = {}


def configure(settings: Mapping[str, Any], *, root_is_tree: bool = False) -> None:
    """Take the plugin's settings: its option `cobench_data`, or its root folder unless that is a tree of foreign tasks."""
    _configured.clear()
    place = (settings.get("options") or {}).get("cobench_data") or (None if root_is_tree else settings.get("root"))
    if place:
        _configured["folder"] = Path(place).expanduser()


def data_folder() -> Path | None:
    """Return the folder of the data, or None when none was named."""
    if "folder" in _configured:
        return _configured["folder"]
    return Path(os.environ[VARIABLE]).expanduser() if os.environ.get(VARIABLE) else None


def requirement(task_folder: str) -> Requirement:
    """Return what a task needs: the variable, or its sub-folder once a folder is named."""
    folder = data_folder()
    if folder is None:
        return Requirement(kind="env", name=VARIABLE, hint=MEND)
    return Requirement(kind="path", name=str(_match(folder, task_folder) or folder / task_folder), hint=MEND)


def read_files(task_folder: str, *, suffixes: frozenset[str] = SUFFIXES) -> dict[str, str]:
    """Return the text files of a task that end with one of the suffixes, by name, in order.

    Raises:
        MissingRequirementError: when there is no folder, or no file in it.
    """
    folder = data_folder()
    if folder is None:
        raise MissingRequirementError(
            f"`{task_folder}` needs the data of CO-Bench, and `{VARIABLE}` is not set", hint=MEND
        )
    place = _match(folder, task_folder)
    files = sorted(p for p in place.iterdir() if p.is_file() and p.suffix in suffixes) if place else []
    if not files:
        raise MissingRequirementError(f"`{folder}` holds no files for `{task_folder}`", hint=MEND)
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in files}


def read_binaries(task_folder: str, *, suffixes: frozenset[str]) -> dict[str, bytes]:
    """Return the files of a task with one of the suffixes, those of its sub-folders included, by path, in order; none is no error."""
    folder = data_folder()
    place = _match(folder, task_folder) if folder is not None else None
    if place is None:
        return {}
    files = sorted(p for p in place.rglob("*") if p.is_file() and p.suffix in suffixes)
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


def _match(folder: Path, task_folder: str) -> Path | None:
    """Return the sub-folder whose letters and digits are those of `task_folder`."""
    wanted = _letters(task_folder)
    found = sorted(p for p in folder.iterdir() if p.is_dir() and _letters(p.name) == wanted) if folder.is_dir() else []
    return found[0] if found else None


def _letters(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
