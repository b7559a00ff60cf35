"""The shape of a config, read from its models: which names each place may hold."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tracebench_core.specs import RunConfig
from tracebench_engine.config.problems import Loc


def kind_at(loc: Loc) -> Any:
    """Return the type of the field at `loc`, `Any` where values are free, None where there is no such field."""
    kind: Any = RunConfig
    for step in loc:
        kind = _descend(kind, step)
        if kind is None:
            return None
    return kind


def names_at(loc: Loc) -> tuple[str, ...]:
    """Return the names that the mapping at `loc` may hold; empty when it holds any."""
    kind = kind_at(loc)
    for each in (kind, *map(_bare, _members(kind))):
        if _is_model(each):
            return tuple(each.model_fields)
    if get_origin(kind) is dict and get_origin(get_args(kind)[0]) is Literal:
        return get_args(get_args(kind)[0])
    return ()


def is_model(loc: Loc) -> bool:
    """Tell whether the place at `loc` is a closed set of fields."""
    return _is_model(kind_at(loc))


def is_list(loc: Loc) -> bool:
    """Tell whether the place at `loc` holds a list of typed items."""
    return get_origin(kind_at(loc)) is tuple


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else ()


def _descend(kind: Any, step: str | int) -> Any:
    if kind is Any:
        return Any
    if members := _members(kind):
        found = [_descend(_bare(each), step) for each in members]
        return next((each for each in found if each is not None), None)
    if _is_model(kind):
        field = kind.model_fields.get(step)
        return None if field is None else _plain(field.annotation)
    if get_origin(kind) is tuple and isinstance(step, int):
        return _plain(get_args(kind)[0])
    if get_origin(kind) is dict and isinstance(step, str):
        key, value = get_args(kind)
        return None if get_origin(key) is Literal and step not in get_args(key) else _plain(value)
    return None


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _plain(annotation: Any) -> Any:
    """Return `T` of `T | None`; several kinds as they are."""
    annotation = _bare(annotation)
    kinds = [kind for kind in _members(annotation) if kind is not type(None)]
    return _bare(kinds[0]) if len(kinds) == 1 else annotation
