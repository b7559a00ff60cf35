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


def hints() -> Iterator[str]:
    """Yield each hint that is written out."""
    for source in filter(re.compile(r"\bhint=").search, (path.read_text() for path in SOURCES)):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                branches = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
                yield from filter(None, map(_text, branches))


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


@pytest.fixture(scope="module")
def told() -> list[str]:
    """All hints of the source, in their words."""
    return sorted({*hints()})


@pytest.fixture(scope="module")
def typed(told: list[str]) -> list[tuple[str, ...]]:
    """The commands of all hints."""
    return sorted({tuple(words) for text in told for words in commands(text)})


def test_there_are_hints(typed: list[tuple[str, ...]]) -> None:
    assert len(typed) > 80


def test_a_command_of_ours_exists_with_its_options(typed: list[tuple[str, ...]]) -> None:
    assert [words for words in typed if words[0] == "trace-bench" and not exists(words)] == []


def exists(words: tuple[str, ...]) -> bool:
    """Whether a command of ours has such a name and such options."""
    group = typer.main.get_command(app)
    context = typer.Context(group)  # type: ignore[arg-type]  # typer's own class
    command = group.get_command(context, words[1])  # type: ignore[attr-defined]  # a group
    if command is None:
        return False
    command = command.build()
    rest = list(words[2:])
    meant = [command]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        meant = [*command.commands.values()] if name == "held" else [command.commands[name]]
    given = {word for word in rest if word.startswith("-")}
    return any(given <= {option for parameter in each.params for option in parameter.opts} for each in meant)


def test_an_extra_that_is_to_be_installed_exists(typed: list[tuple[str, ...]]) -> None:
    for words in [words for words in typed if words[0] == "pip" and "tracebench" in words[-1]]:
        found = re.fullmatch(r"([\w-]+)(?:\[([\w,-]+)\])?", words[-1])
        assert found, words
        (home,) = [ROOT] if found[1] == "tracebench-core" else ROOT.glob(f"*/{found[1].replace('-', '_')}")
        project = tomllib.loads((home / "pyproject.toml").read_text())["project"]
        assert project["name"] == found[1], words
        for extra in (found[2] or "").split(","):
            assert extra in {"", "held", *project.get("optional-dependencies", {})}, words


def test_an_override_is_one(typed: list[tuple[str, ...]]) -> None:
    for words in typed:
        if words[0] == "-o" and "held" not in words[1]:
            parse_override(words[1])


def test_a_variable_that_is_to_be_set_is_read_somewhere(typed: list[tuple[str, ...]]) -> None:
    names = {words[1].partition("=")[0] for words in typed if words[0] == "export"} - {"held"}
    read = {name for path in SOURCES for name in names if name in path.read_text()}
    assert names == read


def test_a_tool_is_on_the_path(typed: list[tuple[str, ...]]) -> None:
    tools = {words[0] for words in typed} & {"cat", "df", "env", "ls", "mv", "rm", "git"}
    assert [tool for tool in tools if shutil.which(tool) is None] == []


def test_a_page_is_there(told: list[str]) -> None:
    pages = [text for text in told if re.fullmatch(r"docs/\S+\.md", text)]
    assert [page for page in pages if not (ROOT / page).is_file()] == []
