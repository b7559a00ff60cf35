"""What a class of opto really takes: keyword arguments along its ancestry, seen through decorators that hide them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def keywords(cls: type, method: str) -> dict[str, JsonValue]:
    """Return the keywords that a method accepts, with defaults, following `**kwargs` up the ancestry; None where there is none."""
    found: dict[str, JsonValue] = {}
    for ancestor in cls.__mro__:
        if ancestor is object or method not in vars(ancestor):
            continue
        parameters = [*inspect.signature(undecorated(vars(ancestor)[method])).parameters.values()][1:]
        for p in parameters:
            if p.kind in _NAMED:
                found.setdefault(p.name, _plain(p.default))
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found


def undecorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside decorators, also inside those that do not say what they wrap."""
    seen = set()
    while id(function) not in seen:
        seen.add(id(function))
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
            continue
        cells = [c.cell_contents for c in getattr(function, "__closure__", None) or ()]
        inner = [c for c in cells if inspect.isfunction(c)]
        if _takes_anything(function) and len(inner) == 1:
            function = inner[0]
    return function


def _takes_anything(function: Callable[..., Any]) -> bool:
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}
    return inspect.Parameter.VAR_KEYWORD in kinds


def _plain(default: Any) -> JsonValue:
    if default is inspect.Parameter.empty:
        return None
    try:
        plain: JsonValue = json.loads(json.dumps(default, allow_nan=False))
    except (TypeError, ValueError):
        return None
    return plain
