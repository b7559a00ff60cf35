"""Every command that our words name is one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tracebench_engine.cli.announced import announce
from tracebench_engine.cli.app import pending

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "src").rglob("*.py"), *ROOT.glob("libs/*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/*/README.md")]


def known() -> set[str]:
    """Return the names of our commands, and of those that plugins here add."""
    projects = [tomllib.loads(path.read_text())["project"] for path in ROOT.glob("plugins/*/pyproject.toml")]
    added = {name for project in projects for name in project.get("entry-points", {}).get("tracebench.commands", {})}
    return added | {str(command.name) for command in announce(pending)}


def test_every_command_that_is_named_is_there() -> None:
    commands = known()
    assert {"run", "list-trainers", "ui", "pythons"} <= commands
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*SOURCES, *PAGES]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for name in re.findall(r"trace-bench ([a-z][a-z-]*)", line)
        if name not in commands and f'b"trace-bench {name}' not in line  # bytes that a seed is drawn from
    ]
    assert found == []
