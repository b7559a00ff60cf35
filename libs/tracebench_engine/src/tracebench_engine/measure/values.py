"""Check a candidate's values against the parameters before anything is evaluated."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.ids import canonical_json, did_you_mean
from tracebench_core.specs import Parameter


def breach(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> str:
    """Return why these values may not be evaluated, in words for a model, or nothing."""
    known = [p.name for p in parameters]
    for name in values:
        if name not in known:
            return f"There is no parameter `{name}`.{did_you_mean(name, known)}"
    for parameter in parameters:
        if parameter.name not in values:
            return f"`{parameter.name}` is missing."
        value = values[parameter.name]
        if why := _breach_of(parameter, value) or _unfit_for_json(value):
            return f"`{parameter.name}` {why}."
    return ""


def _breach_of(parameter: Parameter, value: Any) -> str:
    match parameter.kind:
        case "number":
            return _number(parameter, value)
        case "choice":
            return "" if value in parameter.choices else f"must be one of {list(parameter.choices)}, not {value!r}"
        case "text" | "code":
            return _text(parameter, value)
        case "files":
            return _files(parameter, value)
        case "json":
            return (
                ""
                if _same_shape(parameter.initial, value)
                else (f"must be {_json_type(parameter.initial)}, not {_json_type(value)}")
            )


def _unfit_for_json(value: Any) -> str:
    """Candidates are told apart, kept and shown to models by their JSON."""
    try:
        canonical_json(value)
    except UnicodeEncodeError as err:
        return f"holds half of a character, {err.object[err.start : err.end][:1]!r}, which is no text"
    except (TypeError, ValueError, RecursionError):
        return "must be plain JSON with finite numbers"
    return ""


def _number(parameter: Parameter, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be a finite number, not {value!r}"
    if not abs(value) <= sys.float_info.max:  # NaN is not, either
        return (
            f"must be a finite number, not {value!r}"
            if isinstance(value, float)
            else "must be a number that a float holds"
        )
    if parameter.minimum is not None and value < parameter.minimum:
        return f"must be at least {parameter.minimum:g}, not {value:g}"
    if parameter.maximum is not None and value > parameter.maximum:
        return f"must be at most {parameter.maximum:g}, not {value:g}"
    return ""


def _text(parameter: Parameter, value: Any) -> str:
    if not isinstance(value, str):
        return f"must be text, not {_json_type(value)}"
    if parameter.max_length is not None and len(value) > parameter.max_length:
        return f"must have at most {parameter.max_length} characters, not {len(value)}"
    if parameter.kind == "code" and parameter.signature and not _defines(value, parameter.signature):
        return f"must define `{parameter.signature}`"
    return ""


def _files(parameter: Parameter, value: Any) -> str:
    if not isinstance(value, dict) or not all(isinstance(part, str) for item in value.items() for part in item):
        return "must map paths to texts"
    for path in value:
        parts = path.split("/")
        if not path or "\0" in path or "\\" in path or any(part in {"", ".", ".."} for part in parts):
            return f"must have relative POSIX paths without `..`, not {path!r}"
    folders = {path[:i] for path in value for i, letter in enumerate(path) if letter == "/"}
    if both := sorted(folders & value.keys()):
        return f"has `{both[0]}` as a file and as a folder"
    length = sum(map(len, value.values()))
    if parameter.max_length is not None and length > parameter.max_length:
        return f"must have at most {parameter.max_length} characters in all files together, not {length}"
    return ""


def _defines(code: str, signature: str) -> bool:
    """Code that does not parse passes: its evaluation says where the error is."""
    try:
        wanted = next(iter(ast.parse(f"{signature.rstrip().rstrip(':')}: ...").body))
        found = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    if not isinstance(wanted, ast.FunctionDef):
        return True
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == wanted.name
        for node in ast.walk(ast.Module(found, []))
    )


def _same_shape(initial: Any, value: Any) -> bool:
    return initial is None or _json_type(initial) == _json_type(value)


def _json_type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case dict():
            return "an object"
        case _:
            return "a list"
