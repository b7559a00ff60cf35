"""Every hint of the source is a command that exists: its name, its options, the extra or the file that it names."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tracebench_engine.cli.app import app
from tracebench_engine.config.overrides import parse_override

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("libs/*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
HELD = "\N{BULLET}"
"""Stands for what is filled in when the hint is given."""
TOOLS = frozenset(
    "apt-get cat cd df env export git ls mv nvidia-smi pip python rm ssh sudo trace-bench -o".split()  # noqa: SIM905 - a line
)


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else HELD for p in parts)  # type: ignore[misc]  # text
    return None


def hints() -> Iterator[tuple[str, str]]:
    """Yield each hint that is written out, with the place that gives it."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                branches = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                for text in filter(None, map(_text, branches)):
                    yield f"{path.relative_to(ROOT)}:{node.value.lineno}", text


def commands(hint: str) -> list[list[str]]:
    """Return the words of each command of a hint; what is no command is left out."""
    found = []
    for part in re.split(r"   \(| && |; |, or:? |   ", hint):
        try:
            words = shlex.split(part.replace(HELD, "held"))
        except ValueError:
            continue
        if words and words[0] in TOOLS:
            found.append(words)
    return found


HINTS = sorted({(text, place) for place, text in hints()})
COMMANDS = sorted({tuple(words) for text, _ in HINTS for words in commands(text)})


def test_there_are_hints() -> None:
    assert len(COMMANDS) > 80


@pytest.mark.parametrize("words", [c for c in COMMANDS if c[0] == "trace-bench"], ids=" ".join)
def test_a_command_of_ours_exists_with_its_options(words: tuple[str, ...]) -> None:
    group = typer.main.get_command(app)
    context = typer.Context(group)  # type: ignore[arg-type]  # typer's own class
    command = group.get_command(context, words[1])  # type: ignore[attr-defined]  # a group
    assert command is not None, words[1]
    command = command.build()
    rest = list(words[2:])
    meant = [command]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        meant = [*command.commands.values()] if name == "held" else [command.commands[name]]
    given = {word for word in rest if word.startswith("-")}
    assert any(given <= {option for parameter in each.params for option in parameter.opts} for each in meant)


@pytest.mark.parametrize("words", [c for c in COMMANDS if c[0] == "pip" and "tracebench" in c[-1]], ids=" ".join)
def test_an_extra_that_is_to_be_installed_exists(words: tuple[str, ...]) -> None:
    found = re.fullmatch(r"([\w-]+)(?:\[([\w,-]+)\])?", words[-1])
    assert found, words
    (home,) = [ROOT] if found[1] == "tracebench-core" else ROOT.glob(f"*/{found[1].replace('-', '_')}")
    project = tomllib.loads((home / "pyproject.toml").read_text())["project"]
    assert project["name"] == found[1]
    for extra in (found[2] or "").split(","):
        assert extra in {"", "held", *project.get("optional-dependencies", {})}


@pytest.mark.parametrize("words", [c for c in COMMANDS if c[0] == "-o"], ids=" ".join)
def test_an_override_is_one(words: tuple[str, ...]) -> None:
    if "held" not in words[1]:
        parse_override(words[1])


@pytest.mark.parametrize("words", [c for c in COMMANDS if c[0] == "export"], ids=" ".join)
def test_a_variable_that_is_to_be_set_is_read_somewhere(words: tuple[str, ...]) -> None:
    name = words[1].partition("=")[0]
    assert name == "held" or sum(name in path.read_text() for path in SOURCES) >= 1


@pytest.mark.parametrize("tool", sorted({c[0] for c in COMMANDS} & {"cat", "df", "env", "ls", "mv", "rm", "git"}))
def test_a_tool_is_on_the_path(tool: str) -> None:
    assert shutil.which(tool)


@pytest.mark.parametrize("page", sorted({text for text, _ in HINTS if re.fullmatch(r"docs/\S+\.md", text)}))
def test_a_page_is_there(page: str) -> None:
    assert (ROOT / page).is_file()
