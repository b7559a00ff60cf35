"""Read plugin entry points from installed metadata, importing nothing."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, version
from typing import Literal, NamedTuple

GROUP = "tracebench"
INDEX_GROUP = "tracebench.index"
"""Optional: `bare name = plugin name`. Lets a run find a trainer or optimizer by its bare name without importing other plugins."""
CORE = "tracebench-core"

REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?P<rest>.*)")
RELEASE = re.compile(r"\d+(\.\d+)*")
PLAIN = re.compile(r"(?P<range>(?:(?:>=|<) ?\d+(?:\.\d+)*,? ?)+)")
"""The usual bounds; anything else is left to `packaging`, which takes as long to import as all specs."""

PluginStatus = Literal["found", "loaded", "disabled", "incompatible", "failed"]


@dataclass
class PluginRecord:
    """One installed plugin and what became of it."""

    name: str
    distribution: str
    version: str
    entry_point: EntryPoint | None = field(default=None, repr=False)
    status: PluginStatus = "found"
    error: str = ""


PREFER = "TRACEBENCH_PREFER"
"""Variable that names the distributions whose plugins are taken where another one provides them, too."""


def discover(enabled: Container[str] | None = None, *, preferred: Container[str] = ()) -> dict[str, PluginRecord]:
    """Return every installed plugin by name, in the order of names; `enabled` is applied before any import.

    Of two distributions that provide one plugin, the one that is `preferred` is taken; else neither.
    """
    core = core_version()
    found: dict[str, PluginRecord] = {}
    for point, distribution, release, requires in _installed().plugins:
        record = PluginRecord(point.name, distribution, release, point)
        if (other := found.get(point.name)) is not None:
            if other.distribution == record.distribution or other.distribution in preferred:
                continue
            if record.distribution not in preferred:
                if other.status == "disabled":
                    continue
                other.status = "failed"
                other.error = (
                    f"`{other.distribution}` and `{record.distribution}` both provide a plugin `{point.name}`: "
                    f"export {PREFER}={record.distribution}"
                )
                continue
        if enabled is not None and point.name not in enabled:
            record.status, record.error = "disabled", "left out by TRACEBENCH_PLUGINS"
        elif wanted := _core_mismatch(requires, core):
            record.status, record.error = "incompatible", f"needs {CORE}{wanted}, {core} is installed"
        found[point.name] = record
    return found


def read_index() -> dict[str, list[str]]:
    """Return the plugins that announce each bare name."""
    index: dict[str, list[str]] = {}
    for point in _installed().announced:
        plugins = index.setdefault(point.name, [])
        if point.value not in plugins:
            plugins.append(point.value)
    return index


class _Provided(NamedTuple):
    """A plugin's entry point, and what the metadata of its distribution say: name, version, requirements."""

    point: EntryPoint
    distribution: str
    version: str
    requires: tuple[str, ...]


class _Installed(NamedTuple):
    plugins: tuple[_Provided, ...]
    """In the order of names."""
    announced: tuple[EntryPoint, ...]


def _installed() -> _Installed:
    """Return what installed distributions declare, read once: to open the metadata of a hundred takes tens of milliseconds.

    It is read anew where the path is another, or something was added to a folder on it or removed from it, as installers do.
    """
    return _read(tuple((place, *_changed(place)) for place in sys.path))


def _changed(place: str) -> tuple[int, int]:
    try:  # an empty place is the folder that one is in
        return (status := os.stat(place or ".")).st_ino, status.st_mtime_ns  # noqa: PTH116 - of every place, by every command
    except OSError:
        return 0, 0


@lru_cache(maxsize=8)
def _read(_path: tuple[tuple[str, int, int], ...]) -> _Installed:
    every = entry_points()
    provided = [_provided(point, point.dist) for point in every.select(group=GROUP) if point.dist is not None]
    return _Installed(tuple(sorted(provided, key=lambda each: each.point.name)), tuple(every.select(group=INDEX_GROUP)))


def _provided(point: EntryPoint, dist: Distribution) -> _Provided:
    told = dist.metadata  # it is parsed each time
    return _Provided(point, told["Name"], told["Version"], tuple(dist.requires or ()))


def core_version() -> str:
    """Return the installed version of the core, or `0` when it runs from a bare source tree."""
    try:
        return version(CORE)
    except PackageNotFoundError:
        return "0"


def _core_mismatch(requires: tuple[str, ...], core: str) -> str:
    """Return which versions of the core a plugin wants, when the installed one is not among them."""
    for line in requires:
        name = REQUIREMENT.match(line)
        if name is None or name["name"].lower().replace("_", "-").replace(".", "-") != CORE:
            continue
        if (plain := PLAIN.fullmatch(name["rest"].strip())) and _is_within(plain["range"], core):
            continue
        from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - a third of a listing's time

        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        if not wanted.specifier.contains(core, prereleases=True):
            return str(wanted.specifier)
    return ""


def _is_within(bounds: str, version: str) -> bool:
    """Tell whether a plain version (numbers and dots alone) keeps plain bounds (`>=0.1,<0.2`)."""
    if not RELEASE.fullmatch(version):
        return False
    have = _numbers(version)
    return all(
        have >= _numbers(bound[2:]) if bound.startswith(">=") else have < _numbers(bound[1:])
        for bound in bounds.replace(" ", "").split(",")
    )


def _numbers(release: str) -> tuple[int, ...]:
    """Return a release without its last zeros, so that `1.0` equals `1`."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
