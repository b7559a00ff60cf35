"""The public face as text: every name that others may import, with what it takes and returns; `just face` writes it.

The modules are those of docs/reference/public-face.md. Sources are read, not imported (griffe), so that it says what a type checker sees.
`tests/architecture/public-face.txt` holds it: who changes that file changes what others build on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import griffe

import tracebench_core
from tracebench_core.forwarding import LIBRARIES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference/public-face.md"
FILE = ROOT / "tests/architecture/public-face.txt"
SOURCES = [ROOT / "src", *sorted(ROOT.glob("libs/*/src"))]
KIT = ("answering", "attacks", "fake_openai", "teacher", "toys", "trials")
"""Modules of the conformance kit that plugins use beside its own names."""
WHOLE = r"tracebench_core\.proposing|tracebench_engine\.api\.\w"
"""Packages whose modules are public, too; of any other its own names are."""
SPECIAL = {"__init__", "__call__", "__enter__", "__exit__", "__iter__", "__add__"}
LONGEST = 300
"""Characters of a value that are told."""


def modules() -> list[str]:
    """Return the public modules."""
    told = re.findall(r"`([\w.]+)`", "\n".join(re.findall(r"^\|(.*?)\|", PAGE.read_text(), re.MULTILINE)))
    names = [
        name
        if name.startswith("tracebench_")
        else f"tracebench_engine.{name}"
        if re.match(r"api\b", name)
        else f"tracebench_core.{name}"
        for name in told
    ]
    return ["tracebench_core", *names, *(f"tracebench_testing.{name}" for name in KIT)]


def face() -> list[str]:
    """Return a line for each public name, sorted."""
    loader = griffe.GriffeLoader(search_paths=[*SOURCES])
    for package in LIBRARIES:
        loader.load(package)
    loader.resolve_aliases()
    found = {line for name in modules() for line in _of_module(loader.modules_collection[name], name)}
    return sorted(found)


def name_of(line: str) -> str:
    """Return the name that a line is of."""
    return line.partition("(")[0].partition(":")[0].partition(" = ")[0]


def differences(kept: list[str], found: list[str]) -> list[str]:
    """Return what is gone or changed, in words."""
    before, after = {name_of(line): line for line in kept}, {name_of(line): line for line in found}
    gone = [f"gone: {before[name]}" for name in sorted(before.keys() - after.keys())]
    changed = [
        f"changed: {before[name]}\n      to: {after[name]}"
        for name in sorted(before.keys() & after.keys())
        if before[name] != after[name]
    ]
    return [*gone, *changed]


def _of_module(module: griffe.Object | griffe.Alias, path: str) -> Iterator[str]:
    names = tracebench_core.__all__ if path == "tracebench_core" else module.exports
    for name, member in sorted(module.members.items()):
        if isinstance(member, griffe.Module):
            if re.match(WHOLE, path) and not name.startswith("_"):
                yield from _of_module(member, f"{path}.{name}")
        elif (name in names) if names is not None else not (isinstance(member, griffe.Alias) or name.startswith("_")):
            yield from _of(member, f"{path}.{name}")
    yield from (f"{path}.{name}: forwarded" for name in names or () if name not in module.members)


def _of(member: griffe.Object | griffe.Alias, path: str) -> Iterator[str]:
    """Yield what a name is, and what it holds where it is a class."""
    try:
        target = member.final_target if isinstance(member, griffe.Alias) else member
    except griffe.AliasResolutionError:
        yield f"{path}: of another library"
        return
    if isinstance(target, griffe.Function):
        yield f"{path}{target.signature().removeprefix(target.name)}"
    elif isinstance(target, griffe.Class):
        yield f"{path}({', '.join(map(str, target.bases))})"
        for name, inner in target.members.items():
            if name in SPECIAL or not name.startswith("_"):
                yield from _of(inner, f"{path}.{name}")
    elif isinstance(target, griffe.Attribute):
        kind = f": {target.annotation}" if target.annotation is not None else ""
        value = re.sub(r"\s+", " ", str(target.value)) if target.value is not None else ""
        yield f"{path}{kind}{f' = {value[:LONGEST]}' if value else ''}"
    else:
        yield f"{path}: module"


if __name__ == "__main__":
    FILE.write_text("\n".join(face()) + "\n", encoding="utf-8")
    print(FILE.relative_to(ROOT))
