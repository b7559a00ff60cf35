"""`-o key=value`: one field of a config changed from the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean
from tracebench_engine.config import canonical, document
from tracebench_engine.config.problems import HINT, Loc, dotted
from tracebench_engine.config.secrets import cut, secrets_in
from tracebench_engine.config.shape import is_list, is_model, kind_at

STEP = re.compile(r"\.?(?P<name>[\w-]+)|\[(?P<index>\d+)\]|\[(?P<key>[^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Override:
    """One `key=value` of the command line: where it goes in a canonical config, and what is written there."""

    text: str
    loc: Loc
    value: Any


def parse_override(text: str) -> Override:
    """Read `llm.model=x`, `seeds=[1,2]` or `llm.prices[gpt-4.1].prompt=2`; the value is YAML.

    Raises:
        ConfigError: no `=`, no such field, or a value that is not YAML.
    """
    path, equals, written = text.partition("=")
    text = cut(text)
    if not equals or not path:
        raise ConfigError(f"`-o {text}`: an override is written `key=value`.", hint="-o seeds=[1,2,3]")
    try:
        value = document.value(written)
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise ConfigError(f"`-o {text}`: the value is not valid YAML.", hint=f"-o {path}='\"text\"'") from err
    if (problem := next(document.unfit_for_json(value), None)) is not None:
        raise ConfigError(f"`-o {text}`: the value {problem.text}")
    steps = _steps(path, text)
    whole: Any = value
    for step in reversed(steps):
        whole = {step: whole}
    if (secret := next(secrets_in(whole), None)) is not None:
        raise ConfigError(f"`-o {text}`: `{dotted(secret.shown)}` {secret.words}", hint=HINT)
    loc, value = _resolve(steps, value, text)
    return Override(text=text, loc=loc, value=value)


def apply(data: Mapping[str, Any], override: Override) -> dict[str, Any]:
    """Return canonical data with one field replaced.

    Raises:
        ConfigError: a list has no such item.
    """
    changed: dict[str, Any] = _put(data, override.loc, override, depth=0)
    return changed


def _put(target: Any, loc: Loc, override: Override, *, depth: int) -> Any:
    if depth == len(loc):
        return override.value
    step = loc[depth]
    if isinstance(step, int):
        items = list(target) if isinstance(target, list) else []
        if step > len(items):
            count = "1 item" if len(items) == 1 else f"{len(items)} items"
            raise ConfigError(f"`-o {override.text}`: `{dotted(loc[:depth])}` has {count}, counted from 0.")
        inner = _put(items[step] if step < len(items) else {}, loc, override, depth=depth + 1)
        return [*items[:step], inner, *items[step + 1 :]]
    fields = dict(target) if isinstance(target, dict) else {}
    return {**fields, step: _put(fields.get(step), loc, override, depth=depth + 1)}


def _steps(path: str, text: str) -> Loc:
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = STEP.match(path, position)
        if match is None:
            raise ConfigError(f"`-o {text}`: `{path}` is not the name of a field.", hint=HINT)
        index = match["index"]
        steps.append(int(index) if index is not None else match["name"] or match["key"])
        position = match.end()
    return tuple(steps)


def _resolve(steps: Loc, value: Any, text: str) -> tuple[Loc, Any]:
    """Bring a path to the canonical spelling, step by step."""
    loc: Loc = ()
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(step, str) and is_model(loc):
            spelling = step.replace("-", "_")
            level = canonical.level_of(loc)
            if level == "run" and spelling in canonical.OF_THE_MODEL:
                loc, level = ("llm",), "model"
            name = canonical.ALIASES[level].get(spelling, spelling) if level else spelling
            if level == "run" and canonical.is_bare_setting(name, ()):
                loc = (*loc, "trainer_kwargs")
            loc = (*loc, name)
            if name != spelling and spelling in canonical.ONE_OF_A_LIST:
                loc, value = ((*loc[:-1], name), [value]) if last else ((*loc, 0), value)
        else:
            loc = (*loc, step)
        if kind_at(loc) is None:
            raise ConfigError(f"`-o {text}`: {_unknown(loc)}", hint=HINT)
    return loc, value


def _unknown(loc: Loc) -> str:
    parent, step = loc[:-1], loc[-1]
    if is_list(parent):
        return f"`{dotted(parent)}` is a list: name its item, as in `{dotted((*parent, 0))}`."
    guess = did_you_mean(str(step), canonical.spellings(parent))
    return f"`{dotted(loc)}` is not a known field.{guess}"
