"""The experiments that are on offer: those that ship, and every folder below `--root` with an `experiment.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tracebench_autoresearch.experiment import FILE, SHIPPED, SystemExperiment, read_experiment
from tracebench_core.errors import UsageError

_DEPTH = 3
_settings: dict[str, Path | None] = {"root": None}


@dataclass(frozen=True, slots=True)
class Found:
    """One experiment file: what it says, or why it cannot be read."""

    name: str
    path: Path
    experiment: SystemExperiment | None
    broken: str = ""


def configure(settings: Mapping[str, Any]) -> None:
    """Take the plugin's settings: `root`, or the option `root`, which stands above it."""
    root = (settings.get("options") or {}).get("root") or settings.get("root")
    _settings["root"] = Path(root).expanduser() if root else None
    found.cache_clear()


@cache
def found() -> tuple[Found, ...]:
    """Return all experiments by name; one of the root stands above a shipped one of the same name."""
    files = {path.parent.name: path for path in sorted(SHIPPED.glob(f"*/{FILE}"))}
    root = _settings["root"]
    if root is not None and root.is_dir():
        below = (path for depth in range(_DEPTH) for path in sorted(root.glob("*/" * depth + FILE)))
        files |= {_name(path, root): path for path in below}
    return tuple(_read(name, path) for name, path in sorted(files.items()))


def find(name: str) -> SystemExperiment:
    """Return one experiment.

    Raises:
        UsageError: when there is none of that name, or it cannot be read.
    """
    for one in found():
        if one.name == name:
            if one.experiment is None:
                raise UsageError(one.broken)
            return one.experiment
    raise UsageError(f"There is no experiment `{name}`.", hint="trace-bench list-tasks --bench autoresearch --root DIR")


def _name(path: Path, root: Path) -> str:
    inside = path.parent.relative_to(root).as_posix()
    return root.resolve().name if inside == "." else inside


def _read(name: str, path: Path) -> Found:
    try:
        return Found(name, path, read_experiment(path))
    except UsageError as err:
        return Found(name, path, None, broken=str(err).rstrip("."))
