"""Write the register of plugins, `docs/reference/register.md`: our own from their packages, others from their entries here."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "reference" / "register.md"
FIELDS = ("name", "distribution", "summary", "kinds", "licence", "home")
KINDS = (
    "suite",
    "trainer",
    "optimizer",
    "guide",
    "logger",
    "executor",
    "environment",
    "provider",
    "view",
    "command",
    "attack",
    "hook",
)
HEAD = """# Register of plugins

`python docs/register/render.py` writes this page. How to enter a plugin: [Publish a plugin](../how-to/publish.md).

## Of this repository

What a version withstood is what `trace-bench attack --json` told, kept in `docs/register/attacks` with the tasks that
were tried: of large suites one or two. A task that was tried and runs no code of candidates has nothing to withstand.

| distribution | plugins | |
|---|---|---|
"""
OTHERS = """
## Of others

An entry says that a plugin exists, not that anybody vouches for it: a plugin runs with the rights of who installs it.

"""


def own_rows(root: Path = ROOT) -> Iterable[str]:
    """Yield a row for each package of the repository."""
    for file in sorted(root.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        points = project["entry-points"]
        plugins = ", ".join(f"`{name}`" for name in points.get("tracebench", {}))
        plugins = plugins or ", ".join(f"the command `{name}`" for name in points["tracebench.commands"])
        told = withstood(project["name"], root / "docs/register/attacks")
        yield f"| `{project['name']}` | {plugins} | {project['description']}{told} |\n"


def withstood(distribution: str, folder: Path) -> str:
    """Return what the record of an attack on a distribution's tasks says, empty where there is none.

    Raises:
        ValueError: naming the record, when it is none, or of something else.
    """
    file = folder / f"{distribution}.json"
    if not file.is_file():
        return ""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        version = found["distributions"][distribution]
        tried, tasks = [one for one in found["tasks"] if one["withstood"] or one["believed"]], found["tasks"]
        held, fell = sum(one["withstood"] for one in tasks), sum(len(one["believed"]) for one in tasks)
    except (ValueError, KeyError, TypeError) as err:
        raise ValueError(f"attacks/{file.name}: it is no record of `trace-bench attack --json` on it: {err!r}") from err
    if (found.get("kind"), held, fell) != ("attack", found.get("withstood"), found.get("believed")):
        raise ValueError(f"attacks/{file.name}: its sums are not those of its tasks")
    beside = f", believed {fell}" if fell else ""
    what = "forgery" if held == 1 else "forgeries"
    return f" Version {version} withstood {held} {what}{beside}, on {len(tried)} of the {len(tasks)} tasks that were tried."


def entry(file: Path) -> Mapping[str, Any]:
    """Read one entry.

    Raises:
        ValueError: naming the file and what is wrong with it.
    """
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as err:
        raise ValueError(f"{file.name}: {err}") from err
    if set(found) != set(FIELDS):
        raise ValueError(f"{file.name}: an entry has the fields {', '.join(FIELDS)}, not {', '.join(found)}")
    kinds = found["kinds"]
    if not isinstance(kinds, list) or not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"{file.name}: `kinds` is a list of {', '.join(KINDS)}")
    for field in set(FIELDS) - {"kinds"}:
        if not isinstance(found[field], str) or not found[field].strip() or set(found[field]) & set("|\n<>"):
            raise ValueError(f"{file.name}: `{field}` is one line of plain text")
    if not found["home"].startswith("https://"):
        raise ValueError(f"{file.name}: `home` begins with https://")
    if file.stem != found["distribution"]:
        raise ValueError(f"{file.name}: the file is named after its distribution, `{found['distribution']}.toml`")
    return found


def page(folder: Path = HERE, root: Path = ROOT) -> str:
    """Return the whole page.

    Raises:
        ValueError: an entry is wrong, or two have one name.
    """
    entries = [entry(file) for file in sorted(folder.glob("*.toml"))]
    names = [found["name"] for found in entries]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(
            f"two entries have the name {', '.join(sorted(twice))}: plugins of one name switch each other off"
        )
    table = "| distribution | plugin | offers | licence | |\n|---|---|---|---|---|\n" if entries else "None yet.\n"
    rows = (
        f"| [`{e['distribution']}`]({e['home']}) | `{e['name']}` | {', '.join(e['kinds'])} | {e['licence']} | "
        f"{e['summary']}{withstood(e['distribution'], folder / 'attacks')} |\n"
        for e in entries
    )
    return HEAD + "".join(own_rows(root)) + OTHERS + table + "".join(rows)


if __name__ == "__main__":
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except ValueError as err:
        sys.exit(str(err))
