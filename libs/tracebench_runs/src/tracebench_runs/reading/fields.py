"""Columns from models: a spec's fields, flat, each with a type that every table format knows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from tracebench_core.specs.base import Spec

Kind = Literal["text", "integer", "number", "boolean", "json"]
"""Of a column; `json` is a list or an object as JSON text. Any cell may be empty."""
_PLAIN: Mapping[Any, Kind] = {str: "text", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, and the dotted path at which its cell lies in a record; a None on the way is an empty cell."""

    name: str
    kind: Kind
    path: str
    is_optional: bool = False
    """Whether something on the way may be None."""

    def read(self, record: object) -> Any:
        """Return the cell as it lies in a record."""
        found: Any = record
        for step in self.path.split("."):
            if found is None:
                return None
            found = getattr(found, step)
        return found


class Cells:
    """Reads the rows of a table: all cells of a record at once, since a run has millions."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._plain = None if any(c.is_optional for c in columns) else attrgetter(*(c.path for c in columns))
        self._columns = columns
        self._json = [i for i, c in enumerate(columns) if c.kind == "json"]

    def __call__(self, record: object) -> tuple[Any, ...]:
        """Return one row."""
        cells = [c.read(record) for c in self._columns] if self._plain is None else [*self._plain(record)]
        for i in self._json:
            cells[i] = json_text(cells[i])
        return tuple(cells)


def columns_of(
    model: type[Spec],
    *,
    at: str,
    without: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
    is_optional: bool = False,
) -> Iterator[Column]:
    """Yield the columns of a model that lies `at` an attribute of the records, in the order of its fields.

    A field that holds another spec becomes one column for each field of that, `used` of a step for instance `used_evaluations`;
    a list or an object becomes JSON text.
    """
    names = renamed or {}
    for name, info in model.model_fields.items():
        if name not in without:
            yield from _columns(f"{at}.{name}", names.get(name, name), info.annotation, is_optional=is_optional)


def _columns(path: str, name: str, annotation: Any, *, is_optional: bool) -> Iterator[Column]:
    bare = _without_none(annotation)
    if isinstance(bare, type) and issubclass(bare, BaseModel):
        for inner, info in bare.model_fields.items():
            may_lack = is_optional or bare is not annotation
            yield from _columns(f"{path}.{inner}", f"{name}_{inner}", info.annotation, is_optional=may_lack)
        return
    yield Column(name, _kind(bare), path, is_optional)


def _kind(bare: Any) -> Kind:
    if get_origin(bare) is Literal:
        return _PLAIN[type(get_args(bare)[0])]
    return _PLAIN.get(bare, "json")


def json_text(value: Any) -> str | None:
    """Return a value as JSON text; None, and text that is JSON already, as it is. Specs inside become objects."""
    if value is None or isinstance(value, str):
        return value
    if value == {}:
        return "{}"
    return printable(_ENCODER.encode(value))


def printable(text: str) -> str:
    """Return text with lone surrogates, which no UTF-8 file can hold, spelled out as `\\udXXX`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_plain)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return _without_none(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        rest = [part for part in get_args(annotation) if part is not NoneType]
        return _without_none(rest[0]) if len(rest) == 1 else annotation
    return annotation
