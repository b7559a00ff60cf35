"""Commands that are listed before they are built: typer reads the type of every option to build one, and a call needs one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_name, solve_typer_info_defaults, solve_typer_info_help

from tracebench_core.errors import PluginError
from tracebench_engine.cli.headlines import headline

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
