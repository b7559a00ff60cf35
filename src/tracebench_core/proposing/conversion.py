"""Typed conversion: from what a model wrote for a parameter to a value of the parameter's own type, or words that say why not."""

from __future__ import annotations

import ast
import json
import math
import warnings
from contextlib import suppress
from typing import Any

from pydantic import JsonValue

from tracebench_core.ids import canonical_json
from tracebench_core.proposing.rendering import as_text
from tracebench_core.proposing.replies import strip_fence
from tracebench_core.specs import Parameter

_PYTHON = ("def ", "async def ", "class ")


class RefusedValue(ValueError):  # noqa: N818 - says what happened to the value
    """The value cannot become one of the parameter's type; the text says why, for the model to read."""


def convert(parameter: Parameter, written: Any) -> JsonValue:
    """Return `written` in the type of the parameter's initial value; never guesses across types, never drops a part.

    Raises:
        RefusedValue: when it cannot be done without loss.
    """
    match parameter.kind:
        case "text":
            return _text(written)
        case "code":
            return _code(parameter, written)
        case "number":
            return _number(written, whole=isinstance(parameter.initial, int))
        case "choice":
            return _choice(parameter.choices, written)
        case "json" | "files":
            return _json(parameter.initial, written)


def _text(written: Any) -> str:
    if isinstance(written, str):
        return written
    if isinstance(written, int | float) and not isinstance(written, bool):
        with suppress(ValueError):  # a number of more digits than Python prints
            return json.dumps(written)
    raise RefusedValue(f"it must be a text, not {_kind(written)}")


def _code(parameter: Parameter, written: Any) -> str:
    if not isinstance(written, str):
        raise RefusedValue(f"it must be the source text, not {_kind(written)}")
    code = strip_fence(written)
    if not code.strip():
        raise RefusedValue("it must be source text, and it was empty")
    if (parameter.signature or "").lstrip().startswith(_PYTHON):
        _parse(code)
    return code


def _parse(code: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as err:
        raise RefusedValue(f"it is not valid Python: {err.msg} (line {err.lineno})") from err
    except (ValueError, RecursionError, MemoryError) as err:
        raise RefusedValue(f"it is not valid Python: {type(err).__name__}") from err


def _number(written: Any, *, whole: bool) -> int | float:
    value = _loads(written) if isinstance(written, str) else written
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedValue(f"it must be a number, not {_kind(written)}")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise RefusedValue("it must be a finite number")
    if not whole:
        return float(value)
    if value != int(value):
        raise RefusedValue(f"it must be a whole number, not {value!r}")
    return int(value)


def _choice(choices: tuple[JsonValue, ...], written: Any) -> JsonValue:
    for choice in choices:
        if type(choice) is type(written) and choice == written:
            return choice
    asked = as_text(written).strip().casefold()
    for choice in choices:
        spellings = {json.dumps(choice), choice if isinstance(choice, str) else str(choice)}
        if asked in {s.casefold() for s in spellings}:
            return choice
    raise RefusedValue(f"it must be one of {json.dumps(choices)}")


def _json(initial: JsonValue, written: Any) -> JsonValue:
    value = _loads(written) if isinstance(written, str) and not isinstance(initial, str) else written
    if isinstance(value, tuple):
        value = list(value)
    try:
        plain: JsonValue = json.loads(canonical_json(value))
    except (TypeError, ValueError, RecursionError) as err:
        raise RefusedValue("it must be plain JSON with finite numbers") from err
    if initial is not None and _kind(plain) != _kind(initial):
        raise RefusedValue(f"it must be {_kind(initial)}, not {_kind(written)}")
    return plain


def _loads(text: str) -> Any:
    """Read a value written as JSON or as a Python literal; what is neither stays text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return text


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for types, name in (
        (bool, "true or false"),
        (int | float, "a number"),
        (str, "a text"),
        (list | tuple, "a list"),
        (dict, "an object"),
    ):
        if isinstance(value, types):
            return name
    return type(value).__name__
