"""Writes JSON values as Lean literals of a type."""

from __future__ import annotations

import json
import re
from typing import Any

_NUMERAL = re.compile(r"-?\d+")


class UnwritableError(ValueError):
    """A value has no literal of the type that we know how to write."""


def write_literal(value: Any, kind: str) -> str:
    """Return `value` as a Lean term of type `kind`; text that stands for a list (`"[1, 2]"`, `"#[1, 2]"`) is read first.

    Raises:
        UnwritableError: for other types, and values that do not fit the type.
    """
    kind = kind.strip()
    if kind.startswith("(") and kind.endswith(")"):
        kind = kind[1:-1].strip()
    if kind in {"Int", "Nat", "UInt8", "UInt32", "UInt64"}:
        return _number(value, kind)
    if kind == "Bool" and str(value).lower() in {"true", "false"}:
        return str(value).lower()
    if kind == "String" and isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    for prefix, opening in (("List ", "["), ("Array ", "#[")):
        if kind.startswith(prefix):
            return opening + ", ".join(write_literal(item, kind.removeprefix(prefix)) for item in _items(value)) + "]"
    if kind.startswith("Option "):
        if value in (None, "none"):
            return "none"
        text = value.removeprefix("some ").strip() if isinstance(value, str) else value
        return f"some ({write_literal(text, kind.removeprefix('Option '))})"
    raise UnwritableError(f"{value!r} is no literal of `{kind}`")


def _number(value: Any, kind: str) -> str:
    text = str(value).strip().strip("()")
    if isinstance(value, bool) or not _NUMERAL.fullmatch(text) or (kind != "Int" and text.startswith("-")):
        raise UnwritableError(f"{value!r} is no `{kind}`")
    return f"({text})" if text.startswith("-") else text


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value.strip().removeprefix("#"))
        except ValueError as err:
            raise UnwritableError(f"{value!r} is no list") from err
    if not isinstance(value, list):
        raise UnwritableError(f"{value!r} is no list")
    return value
