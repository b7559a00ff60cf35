"""Texts that are kept beside the code: what was said before, by section, against what is said now; `just kept` writes them anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
HEAD = "# "
"""Begins the line that names a section."""
Said = Mapping[str, Sequence[str]]
"""Lines by section; a section that is not there now, as of a plugin that is not installed, is not compared."""


def kept(name: str) -> dict[str, list[str]]:
    """Return what a file holds; nothing where there is none."""
    path = HERE / f"{name}.txt"
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        if line.startswith(HEAD):
            section = found.setdefault(line.removeprefix(HEAD), [])
        else:
            section.append(line)
    return found


def write(name: str, now: Said) -> None:
    """Keep what is said now, and what was said in sections that are not there now."""
    lines = [line for section, said in sorted((kept(name) | {**now}).items()) for line in (f"{HEAD}{section}", *said)]
    (HERE / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def changes(name: str, now: Said) -> list[str]:
    """Return the lines that are gone and those that are new, each with its section."""
    before = kept(name)
    gone = [
        f"- {section}: {line}" for section, said in now.items() for line in before.get(section, []) if line not in said
    ]
    new = [
        f"+ {section}: {line}" for section, said in now.items() for line in said if line not in before.get(section, [])
    ]
    return gone + new


def said_of_each(names: Iterable[str], say: Callable[[str, Path], list[str]]) -> Said:
    """Return what is said of each name, in a folder of its own."""
    found: dict[str, list[str]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = say(name, Path(folder))
    return found
