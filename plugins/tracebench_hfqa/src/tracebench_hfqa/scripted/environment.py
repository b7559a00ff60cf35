"""An environment as a row describes it: records in tables, and tools that each do one of six things to them. Nothing else can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from tracebench_core.specs.base import Spec

Deed = Literal["get", "find", "add", "set", "remove", "move"]
State = dict[str, dict[str, dict[str, Any]]]
"""By table and by the record's id, its fields; a table of each tool is there, if an empty one."""


class ToolError(ValueError):
    """A call that is refused; the words are what the model is told."""


class Tool(Spec):
    """One tool: a deed on the records of one table."""

    name: str
    description: str
    does: Deed
    table: str
    key: str = ""
    """The argument that names the record; of `find` there is none."""
    fields: tuple[str, ...] = ()
    """Further arguments: fields that `add` and `set` write, and that `find` compares."""
    writes: dict[str, JsonValue] = Field(default_factory=dict)
    """What `set` writes whatever the call says, by field."""
    requires: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """By field, the values with one of which alone a record may be changed."""
    to: str = ""
    """Of `move`: the argument that names the record which receives."""
    amount: str = ""
    """Of `move`: the argument, and the field of both records, that is taken from one and given to the other."""

    @model_validator(mode="after")
    def _has_what_its_deed_needs(self) -> Tool:
        needed = {"find": (), "move": ("key", "to", "amount")}.get(self.does, ("key",))
        if missing := [name for name in needed if not getattr(self, name)]:
            raise ValueError(f"`{self.name}` does `{self.does}` and names no `{missing[0]}`")
        return self

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, all of which are needed, but by `find`."""
        return tuple(name for name in (self.key, self.to, self.amount, *self.fields) if name)


def call(state: State, tools: Sequence[Tool], name: str, arguments: Mapping[str, Any]) -> Any:
    """Do what a call says, in place, and return what the tool says to it.

    Raises:
        ToolError: there is no such tool or record, an argument is missing, unknown or of the wrong kind, or the record may not be changed.
    """
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise ToolError(f"there is no tool `{name}`; there are {', '.join(t.name for t in tools)}")
    if unknown := [given for given in arguments if given not in tool.arguments]:
        raise ToolError(f"`{name}` takes no `{unknown[0]}`; it takes {', '.join(tool.arguments) or 'nothing'}")
    table = state[tool.table]
    if tool.does == "find":
        return {id_: deepcopy(record) for id_, record in table.items() if _is_like(id_, record, arguments)}
    if missing := [needed for needed in tool.arguments if needed not in arguments]:
        raise ToolError(f"`{name}` needs `{missing[0]}`")
    return _done(tool, table, str(arguments[tool.key]), arguments)


def _done(tool: Tool, table: dict[str, dict[str, Any]], key: str, arguments: Mapping[str, Any]) -> Any:
    """Do the deed of a tool on the record `key`."""
    if tool.does == "add":
        if key in table:
            raise ToolError(f"there is a record `{key}` already")
        table[key] = {field: arguments[field] for field in tool.fields}
        return {"added": key}
    record = _record(table, key)
    if tool.does == "get":
        return deepcopy(record)
    for field, allowed in tool.requires.items():
        if record.get(field) not in allowed:
            raise ToolError(f"`{field}` of `{key}` is {record.get(field)!r}, which does not allow it")
    if tool.does == "remove":
        del table[key]
        return {"removed": key}
    if tool.does == "set":
        record.update({field: arguments[field] for field in tool.fields} | tool.writes)
        return deepcopy(record)
    return _moved(record, _record(table, str(arguments[tool.to])), tool.amount, arguments[tool.amount])


def _is_like(id_: str, record: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return all(record.get(field, id_ if field == "id" else None) == value for field, value in arguments.items())


def _record(table: Mapping[str, dict[str, Any]], key: str) -> dict[str, Any]:
    if key not in table:
        raise ToolError(f"there is no record `{key}`")
    return table[key]


def _moved(giver: dict[str, Any], taker: dict[str, Any], field: str, amount: Any) -> dict[str, Any]:
    if isinstance(amount, bool) or not isinstance(amount, int) or amount <= 0:
        raise ToolError(f"`{field}` must be a whole number above 0")
    if giver is taker:
        raise ToolError("both records are the same")
    held, other = giver.get(field, 0), taker.get(field, 0)
    if not all(isinstance(each, int | float) for each in (held, other)):
        raise ToolError(f"`{field}` is no number there")
    if held < amount:
        raise ToolError(f"only {held} are there")
    giver[field], taker[field] = held - amount, other + amount
    return {"moved": amount}
