"""The public face as text: every name that others may import, with what it takes and returns; `just face` writes it.

The modules are those of docs/reference/public-face.md. Sources are read, not imported (griffe), so that it says what a type checker sees.
`tests/architecture/public-face.txt` holds it: who changes that file changes what others build on. Its first line names the last minor
version that others have built on; a face that breaks what was kept is written only after the minor was raised above it.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import griffe

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
BUILT_ON = "# others have built on: "
"""Begins the file's first line; a minor version of the core follows."""
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


def kept() -> tuple[str, list[str]]:
    """Return the minor version that others have built on, and the face as the file holds it."""
    first, *lines = FILE.read_text(encoding="utf-8").splitlines()
    return first.removeprefix(BUILT_ON), lines


def minor() -> str:
    """Return the minor version of the sources."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version.rpartition(".")[0]


def is_above(version: str, other: str) -> bool:
    """Compare two minor versions by their numbers."""
    return [int(n) for n in version.split(".")] > [int(n) for n in other.split(".")]


def breaks(before: list[str], after: list[str]) -> list[str]:
    """Return what no longer works for those who built on a face: names that are gone, and calls that are refused."""
    now = {name_of(line): line for line in after}
    found = []
    for line in before:
        name = name_of(line)
        if name not in now:
            found.append(f"gone: {line}")
        elif (old := _parameters(line)) is not None and (new := _parameters(now[name])) is not None:
            lost, wanted = old.keys() - new.keys(), {n for n, has in new.items() if not has and old.get(n, True)}
            found += [f"`{name}` no longer takes `{n}`" for n in sorted(lost)]
            found += [f"`{name}` now needs `{n}`" for n in sorted(wanted)]
    return found


def _parameters(line: str) -> dict[str, bool] | None:
    """Return the parameters of a function, and whether each has a default; None of anything else."""
    try:
        [made] = ast.parse(f"def f{line.removeprefix(name_of(line))}: ...").body
    except (SyntaxError, ValueError):
        return None
    assert isinstance(made, ast.FunctionDef)
    args = made.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [False] * (len(plain) - len(args.defaults)) + [True] * len(args.defaults)
    found = {a.arg: has for a, has in zip(plain, defaults, strict=True)}
    found |= {a.arg: default is not None for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)}
    return found | {a.arg: True for a in (args.vararg, args.kwarg) if a is not None}


def _of_module(module: griffe.Object | griffe.Alias, path: str) -> Iterator[str]:
    names = import_module(path).__all__ if "__getattr__" in module.members else module.exports
    offered = _offered(module)
    for name, member in sorted(module.members.items()):
        if isinstance(member, griffe.Module):
            if re.match(WHOLE, path) and not name.startswith("_"):
                yield from _of_module(member, f"{path}.{name}")
        elif (
            (name in names)
            if names is not None
            else not (isinstance(member, griffe.Alias) or name.startswith("_")) or name in offered
        ):
            yield from _of(member, f"{path}.{name}")
    yield from (f"{path}.{name}: forwarded" for name in names or () if name not in module.members)


def _offered(module: griffe.Object | griffe.Alias) -> set[str]:
    """Return the names that a module imports as themselves, `Name as Name`, by which it offers them."""
    imports = [node for node in ast.parse("\n".join(module.lines)).body if isinstance(node, ast.ImportFrom)]
    return {each.name for node in imports for each in node.names if each.name == each.asname}


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
    BASE, BEFORE = kept()
    NOW = face()
    if "--built-on" in sys.argv:
        BASE = minor()
    elif not is_above(minor(), BASE) and (BROKEN := breaks(BEFORE, NOW)):
        sys.exit(
            "\n".join(BROKEN)
            + f"\nOthers have built on {BASE}, and this is {minor()}: raise the minor first, by  bash .ci/minor {minor()} NEW"
        )
    FILE.write_text("\n".join([BUILT_ON + BASE, *NOW]) + "\n", encoding="utf-8")
    print(FILE.relative_to(ROOT))
