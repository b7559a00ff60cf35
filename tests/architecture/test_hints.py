"""Commands that are told can be typed: a path in one stands in quotes where it holds a space."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tracebench_core.errors import quoted

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for pattern in ("src/**/*.py", "libs/*/src/**/*.py", "plugins/*/src/**/*.py")
    for path in ROOT.glob(pattern)
    if "templates" not in path.parts
)
COMMAND = re.compile(
    r"(trace-bench|\bls(?: -\w+)?|\bcat|\bdf -h|\bcd|\bchmod|\bgit (?:-C|init)|pip install -e|-m zipfile -t) [^`'\"]*$"
)
"""What stands before a path that somebody types."""
STARTS = ("trace-bench", "ls", "cat", "df -h", "cd", "chmod", "git", "pip install -e", "-m zipfile -t")
"""The words that such a text begins with: a file without any of them need not be parsed."""
PATHS = re.compile(r"path|folder|_?dir\b|file\b|parent|repo\b|project\b|runs\b|config\b|_log\b|written", re.IGNORECASE)
NO_PATH = {"python.name", "written"}
"""Of interpreters: names without a space, in a file that asks whether it is a path first."""
IN_A_CONTAINER = ("harbor_side", "box.py")
"""Commands that the bench itself runs, on paths of its own."""


def unquoted(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the expression of each path that stands bare in a command."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                if not COMMAND.search(before):
                    before += "x"
                    continue
                inside = ast.unparse(part.value)
                called = ast.unparse(part.value.func) if isinstance(part.value, ast.Call) else ""
                is_safe = called in {"quoted", "quote", "shlex.quote", "shlex.join", "len"} or inside in NO_PATH
                if PATHS.search(inside) and not is_safe:
                    yield node.lineno, inside
                before += "x"


def test_every_path_in_a_command_that_is_told_is_quoted() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {inside}"
        for path in SOURCES
        if not any(part in path.parts for part in IN_A_CONTAINER)
        for source in [path.read_text(encoding="utf-8")]
        if any(f"{word}{end}" in source for word in STARTS for end in " \"'")
        for line, inside in unquoted(source)
    ]
    assert found == [], "write {quoted(…)}, of tracebench_core.errors:\n" + "\n".join(found)


def test_a_bare_path_is_found_and_a_quoted_one_is_not() -> None:
    bare = 'hint = f"trace-bench show {run.layout.path} --json; ls -l {folder}/x"'
    assert [inside for _, inside in unquoted(bare)] == ["run.layout.path", "folder"]
    sound = 'hint = f"trace-bench show {quoted(run.layout.path)}, not `{path}`; {len(runs)} of trace-bench"'
    assert [*unquoted(sound)] == []
    assert shlex.split(f"ls {quoted(Path('my runs') / 'it is')}") == ["ls", "my runs/it is"]
