"""Commands that are listed before they are built: typer reads the type of every option to build one, and a call needs one of them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name, solve_typer_info_defaults, solve_typer_info_help

from tracebench_core.errors import PluginError

Build = Callable[[], Any]
"""Returns the command itself, whose class is private to typer."""


class Announced(TyperGroup):
    """Stands in for a command in `--help`; becomes it when called."""

    def __init__(self, name: str, help_text: str, build: Build, *, plain: Callable[[], None] | None = None) -> None:
        self.build = build
        self.plain = plain
        super().__init__(name=name, help=help_text)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Build the real command and let it parse the arguments; where there are none to parse, what it calls will do."""
        command = self.build() if args or self.plain is None else _called(self.name, self.plain)
        return command.make_context(info_name, args, parent=parent, **extra)


class _OfPlugin(Announced):
    """One whose words are in its module; where they cannot be read there, it says who provides it."""

    def __init__(self, found: EntryPoint, provided: str, build: Build) -> None:
        self.found = found
        super().__init__(found.name, provided, build)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the command's line in a list of commands."""
        self.help = headline(self.found) or self.help
        return super().get_short_help_str(limit)


def announce(pending: typer.Typer) -> Iterator[Announced]:
    """Yield a stand-in for each command and group of an app, in its order, groups last."""
    for info in pending.registered_commands:
        if info.callback is None:
            continue
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.registered_commands.append(info)
        name = info.name or get_command_name(info.callback.__name__)
        help_text = info.help or inspect.getdoc(info.callback) or ""
        parameters = inspect.signature(info.callback).parameters.values()
        plain = None if any(each.default is each.empty for each in parameters) else info.callback
        yield Announced(name, help_text, partial(typer.main.get_command, alone), plain=plain)
    for group in pending.registered_groups:
        whole = typer.Typer(add_completion=False, rich_markup_mode=None)
        whole.registered_groups.append(group)
        name = solve_typer_info_defaults(group).name or ""
        yield Announced(name, solve_typer_info_help(group), partial(_group, whole, name))


def _called(name: str | None, plain: Callable[[], None]) -> TyperCommand:
    return TyperCommand(name, callback=plain, add_help_option=False)


def _group(whole: typer.Typer, name: str) -> Any:
    return typer.main.get_group(whole).commands[name]


def announce_plugin(found: EntryPoint) -> Announced:
    """Return a stand-in for a command that a plugin adds; calling it raises `PluginError` where it cannot be loaded."""
    owner = found.dist.name if found.dist else "an unnamed distribution"

    def load() -> Any:
        try:
            return typer.main.get_command(found.load())
        except (Exception, SystemExit) as err:
            raise PluginError(
                f"Command `{found.name}` of `{owner}` failed to load: {type(err).__name__}: {err}",
                hint=f"pip install --upgrade {owner}",
            ) from err

    return _OfPlugin(found, f"Provided by {owner}.", load)


def headline(found: EntryPoint) -> str:
    """Return what a command's app, or the command that it is, says of itself; an empty text where that cannot be read."""
    try:
        tree = ast.parse(_source(found.module))
    except (OSError, ValueError, SyntaxError, ImportError, AttributeError):
        return ""
    said = "".join(_help_of(node, found.attr) for node in tree.body)
    return said or next(filter(None, (_docstring(node, found.attr) for node in tree.body)), "")


def _source(module: str) -> bytes:
    top, *below = module.split(".")
    spec = find_spec(top)
    homes = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not homes:
        return Path(str(spec.origin if spec is not None else None)).read_bytes()
    inside = Path(homes[0], *below)
    return (inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")).read_bytes()


def _help_of(node: ast.stmt, name: str) -> str:
    """Return the `help` of `NAME = typer.Typer(help=…)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return ""
    if [each.id for each in node.targets if isinstance(each, ast.Name)] != [name]:
        return ""
    texts = [
        each.value.value for each in node.value.keywords if each.arg == "help" and isinstance(each.value, ast.Constant)
    ]
    return str(texts[0]) if texts else ""


def _docstring(node: ast.stmt, name: str) -> str:
    """Return the docstring of a function that is a command or the callback of the app."""
    if not isinstance(node, ast.FunctionDef):
        return ""
    own = any(ast.unparse(each).startswith((f"{name}.command", f"{name}.callback")) for each in node.decorator_list)
    return ast.get_docstring(node) or "" if own else ""
