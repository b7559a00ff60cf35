"""The rules of the house that a machine can hold."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from pathlib import Path

import pytest

from tracebench_core import hookspecs
from tracebench_core.forwarding import LIBRARIES

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "tracebench_core"
LIBS = {"tracebench_core": CORE} | {
    p.name: p for p in sorted(ROOT.glob("libs/*/src/*")) if (p / "__init__.py").is_file()
}
SOURCES = sorted([*(path for lib in LIBS.values() for path in lib.rglob("*.py")), *ROOT.glob("plugins/*/src/**/*.py")])
MOST_LINES = 400
HOUSE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["house"]
ORDINARY_WORDS = {"viewer", "ray", "example", "ext", "local", "fields", "workers"}
"""Names of plugins that are also words; these are looked for as `tracebench_<name>` only."""


def plugin_names() -> set[str]:
    projects = [tomllib.loads(p.read_text())["project"] for p in ROOT.glob("plugins/*/pyproject.toml")]
    return {name for p in projects for name in p["entry-points"].get("tracebench", {})}


def test_no_library_names_a_plugin() -> None:
    names = plugin_names()
    assert {"llm4ad", "opto"} <= names
    words = "|".join(rf"tracebench[_-]{n}\b" + ("" if n in ORDINARY_WORDS else rf"|\b{n}\b") for n in sorted(names))
    # most files hold no part of a name, and need no look at each line
    parts = {n for n in names if n not in ORDINARY_WORDS} | {f"tracebench{s}{n}" for n in ORDINARY_WORDS for s in "_-"}
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for lib in LIBS.values()
        for path in sorted(lib.rglob("*.py"))
        for text in [path.read_text()]
        if any(part in text for part in parts)
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(words, line)
    ]
    assert found == []


def test_the_libraries_are_those_that_are_kept_away_from_candidates() -> None:
    assert sorted(LIBS) == sorted(LIBRARIES)


@pytest.mark.parametrize("name", sorted(LIBS))
def test_a_library_keeps_its_budget_of_lines(name: str) -> None:
    lines = sum(len(path.read_text().splitlines()) for path in LIBS[name].rglob("*.py"))
    assert lines <= HOUSE["lines"][name], "what can go? Else raise it in pyproject.toml, and say why in the commit"


def test_no_folder_is_crowded() -> None:
    """What is crowded today is listed and may only get emptier."""
    crowded = HOUSE.get("crowded", {})
    most = HOUSE["modules_in_a_folder"]
    counts = {
        ".".join(folder.relative_to(lib.parent).parts): sum(1 for p in folder.glob("*.py") if p.name != "__init__.py")
        for lib in LIBS.values()
        for folder in {path.parent for path in lib.rglob("*.py")}
    }
    assert {name: count for name, count in counts.items() if count > crowded.get(name, most)} == {}
    assert {name for name in crowded if counts.get(name, 0) <= most} == set(), "no longer crowded: strike it out"


def test_a_module_says_what_it_is_and_stays_small() -> None:
    breaches = []
    for path in SOURCES:
        text = path.read_text()
        if len(text.splitlines()) > MOST_LINES:
            breaches.append(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines, at most {MOST_LINES}")
        if text and not text.startswith('"""'):
            breaches.append(f"{path.relative_to(ROOT)}: a module begins with one sentence on what it is")
    assert breaches == []


@pytest.mark.parametrize("name", [n for n in dir(hookspecs) if n.startswith("tracebench_")])
def test_a_hook_is_documented_with_its_exact_signature(name: str) -> None:
    function = getattr(hookspecs, name)
    since = re.search(r"^Since (\d+\.\d+)(?:; (deprecated): .+)?\.$", inspect.getdoc(function) or "", re.MULTILINE)
    assert since, "its last line says since which version there is such a hook, and what takes its place where it goes"
    signature = f"{name}({', '.join(inspect.signature(function).parameters)})"
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text()
    assert re.search(
        rf"^\| `{re.escape(signature)}` \| .* \| {', '.join(filter(None, since.groups()))} \|$", page, re.MULTILINE
    )


def test_no_path_of_one_machine_and_no_registry_is_written_down() -> None:
    others = {".git", ".venv", ".tools", "runs", "site-packages", "__pycache__"}
    ours: list[Path] = []
    for folder, below, files in os.walk(ROOT):
        below[:] = [name for name in below if name not in others]
        ours += [Path(folder, name) for name in files if Path(name).suffix in {".py", ".toml", ".yaml", ".md"}]
    ours.remove(Path(__file__))
    hosts = re.compile("python" + "hosted|pypi" + r"\.org|registry\.npm" + "js|/ro" + "ot/|/wo" + "rk/")
    assert [str(p) for p in ours if hosts.search(p.read_text(errors="replace"))] == []
