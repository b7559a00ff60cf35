"""The rules of the house that a machine can hold."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from tracebench_core import hookspecs

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "tracebench_core"
SOURCES = sorted([*CORE.rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
MOST_LINES = 400
ORDINARY_WORDS = {"viewer", "ray", "example", "ext", "local", "fields"}
"""Names of plugins that are also words; these are looked for as `tracebench_<name>` only."""


def plugin_names() -> set[str]:
    projects = [tomllib.loads(p.read_text())["project"] for p in ROOT.glob("plugins/*/pyproject.toml")]
    return {name for p in projects for name in p["entry-points"].get("tracebench", {})}


def test_the_core_names_no_plugin() -> None:
    names = plugin_names()
    assert {"llm4ad", "opto"} <= names
    words = "|".join(rf"tracebench[_-]{n}\b" + ("" if n in ORDINARY_WORDS else rf"|\b{n}\b") for n in sorted(names))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(CORE.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(words, line)
    ]
    assert found == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    assert not text or text.startswith('"""'), "a module begins with one sentence on what it is"


@pytest.mark.parametrize("name", [n for n in dir(hookspecs) if n.startswith("tracebench_")])
def test_a_hook_is_documented_with_its_exact_signature(name: str) -> None:
    function = getattr(hookspecs, name)
    assert inspect.getdoc(function)
    signature = f"{name}({', '.join(inspect.signature(function).parameters)})"
    assert f"`{signature}`" in (ROOT / "docs" / "reference" / "hooks.md").read_text()


def test_no_path_of_one_machine_and_no_registry_is_written_down() -> None:
    texts = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".toml", ".yaml", ".md"} and ".venv" not in p.parts]
    ours = [p for p in texts if not {".tools", "runs", "site-packages"} & set(p.parts) and p != Path(__file__)]
    hosts = re.compile("python" + "hosted|pypi" + r"\.org|registry\.npm" + "js|/ro" + "ot/|/wo" + "rk/")
    assert [str(p) for p in ours if hosts.search(p.read_text(errors="replace"))] == []
