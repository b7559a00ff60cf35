"""What is declared, as text: settings and options with defaults and bounds, and what planning takes from tasks and parts.

Scores of two releases compare only while these stay as they are, so a change has to be meant. Words for people are left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel
from typer.main import get_command

from tracebench_core.specs import Component, SuiteSpec, TaskSpec
from tracebench_engine.api.installed.hosting import load_ref, open_host
from tracebench_engine.cli.app import COMMANDS, app

WORDS = {"title", "description", "citation", "licence", "source", "requires", "broken", "version", "name", "tags"}
"""Fields that are for people, or that a machine's libraries decide."""
DISCOVERED = {"trace_examples"}
"""Suites whose tasks are those of whatever build of another library is there."""


def declared() -> dict[str, list[str]]:
    """Return the lines of each plugin that is loaded here, sorted."""
    catalog = open_host().catalog()
    found: dict[str, list[str]] = defaultdict(list)
    models = dict[str, str]()
    for name, suite in catalog.suites.items():
        found[name].append(f"suite {_of(suite)}")
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for id_, task in catalog.tasks.items():
        plugin, _, name = id_.partition(":")
        if plugin not in DISCOVERED:
            alike[plugin, _of(task, without={"loader", "aliases", "groups", "answers", "sizes_of"})].append(name)
            models |= {task.options: plugin} if task.options else {}
    for (plugin, said), names in alike.items():
        found[plugin].append(f"task {said} {' '.join(sorted(names))}")
    for kind, parts in catalog.components.items():
        for name, part in parts.items():
            plugin = catalog.origin[kind, name]
            found[plugin].append(f"{kind} {name} {_of(part)}")
            models |= {part.settings: plugin} if part.settings else {}
    for ref, plugin in models.items():
        found[plugin] += _settings(ref)
    found["trace-bench"] = [*_options(get_command(app))]
    for entry in entry_points(group=COMMANDS):
        found[f"trace-bench {entry.name}"] = [*_options(get_command(entry.load()))]
    return {plugin: sorted({*lines}) for plugin, lines in sorted(found.items())}


def _of(spec: TaskSpec | Component | SuiteSpec, *, without: Iterable[str] = ()) -> str:
    told = spec.model_dump(mode="json", exclude_defaults=True, exclude=WORDS | {*without})
    return json.dumps(told, sort_keys=True)


def _settings(ref: str) -> list[str]:
    model = load_ref(ref, owner="tests")
    assert issubclass(model, BaseModel)
    schema = model.model_json_schema()
    shapes = {ref: schema, **schema.get("$defs", {})}
    return [
        f"setting {owner}.{name} {json.dumps(_bare(shape), sort_keys=True)}"
        for owner, whole in shapes.items()
        for name, shape in whole.get("properties", {}).items()
    ]


def _options(command: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each option and argument of a command and of those below it: its default, unless it is off or nothing."""
    command = command.build() if hasattr(command, "build") else command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, f"{path}{name} ")
    for parameter in command.params:
        default = getattr(parameter.default, "value", parameter.default)
        told = {} if default is None or default is False else {"default": str(default)}
        told |= {"required": True} if parameter.required else {}
        told |= {n: v for n in ("min", "max") if (v := getattr(getattr(parameter, "type", None), n, None)) is not None}
        told |= {n: True for n in ("multiple", "is_flag", "hidden") if getattr(parameter, n, False)}
        yield f"option {path}{' '.join(parameter.opts)} {json.dumps(told)}"


def _bare(shape: Any) -> Any:
    """Return a schema without its words."""
    if isinstance(shape, dict):
        return {name: _bare(inner) for name, inner in shape.items() if name not in {"title", "description"}}
    return [_bare(inner) for inner in shape] if isinstance(shape, list) else shape
