"""The extras of the bench: what each lacks, and who still installs the bench by one of before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Dependency
from packaging.utils import canonicalize_name

NAME = re.compile(r"^Name:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


def extras() -> Iterator[tuple[str, list[str]]]:
    """Yield each extra of the bench, and what it requires that is not installed."""
    try:
        core = distribution("tracebench-engine")
    except PackageNotFoundError:
        return
    wanted = [Dependency(line) for line in core.requires or ()]
    for extra in core.metadata.get_all("Provides-Extra") or ():
        yield extra, [*_missing(wanted, extra)]


def old_extras() -> list[str]:
    """Return who still installs the bench by an extra of `tracebench-core`, all of which are `tracebench-engine`'s now."""
    found = _by_name()
    wanted = {name: [*_parts_wanted(one)] for name, one in found.items()}
    who = [
        f"{name} requires {canonicalize_name(each.name)}[{','.join(sorted(each.extras))}]"
        for name, needs in sorted(wanted.items())
        for each in needs
        if canonicalize_name(each.name) == "tracebench-core" and each.extras
    ]
    core, engine = found.get("tracebench-core"), found.get("tracebench-engine")
    others: Iterator[str] = (
        canonicalize_name(each.name)
        for name, needs in wanted.items()
        for each in needs
        if name not in {"tracebench-core", "tracebench-testing"} and each.marker is None
    )
    if core and engine and core.read_text("REQUESTED") is not None and engine.read_text("REQUESTED") is None:
        who += (
            [] if "tracebench-engine" in others else ["tracebench-engine was installed by an extra of tracebench-core"]
        )
    return who


def _by_name() -> dict[str, Distribution]:
    """Return what is installed, by name, the first on the path; what tells no name, as a broken install does not, is nobody."""
    found: dict[str, Distribution] = {}
    for one in distributions():
        with suppress(OSError, ValueError):  # not to be read, or not as text
            if name := NAME.search(_head(one)):
                found.setdefault(canonicalize_name(name[1]), one)
    return found


def _head(one: Distribution) -> str:
    """Return what a distribution says of itself without its description, which is most of it and takes long to parse."""
    return (one.read_text("METADATA") or one.read_text("PKG-INFO") or "").partition("\n\n")[0]


def _parts_wanted(one: Distribution) -> Iterator[Dependency]:
    """Yield what a distribution requires of the bench's; other lines, some of which no standard allows, are not looked at."""
    if one.read_text("METADATA") and "tracebench" not in _head(one).lower():
        return
    for line in one.requires or ():
        if "tracebench" in line.lower():
            with suppress(InvalidRequirement):
                yield Dependency(line)


def _missing(wanted: Iterable[Dependency], extra: str) -> Iterator[str]:
    for dependency in wanted:
        if dependency.marker is None or dependency.marker.evaluate({"extra": ""}):
            continue
        if dependency.marker.evaluate({"extra": extra}):
            yield from _lacking(dependency)


def _lacking(dependency: Dependency) -> Iterator[str]:
    """Yield what a dependency is not installed with: itself, or what the extras that it names require."""
    try:
        found = distribution(dependency.name)
    except PackageNotFoundError:
        yield dependency.name
        return
    if not dependency.specifier.contains(found.version, prereleases=True):
        yield dependency.name
    for extra in sorted(dependency.extras):
        yield from _missing([Dependency(line) for line in found.requires or ()], extra)
