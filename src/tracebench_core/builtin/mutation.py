"""Random changes of values, each kept within its parameter's bounds."""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Sequence
from typing import Any

from tracebench_core.specs import Parameter, Values


def mutate(parameters: Sequence[Parameter], values: Values, *, rng: random.Random, scale: float) -> Values:
    """Return a copy of `values` with one parameter changed."""
    parameter = rng.choice(list(parameters))
    changed = dict(values)
    value: Any = values[parameter.name]
    match parameter.kind:
        case "number":
            changed[parameter.name] = _number(parameter, value, rng, scale)
        case "choice":
            changed[parameter.name] = rng.choice(parameter.choices)
        case "code":
            changed[parameter.name] = _code(value, rng, scale)
        case "text":
            changed[parameter.name] = _text(value, rng)[: parameter.max_length]
        case "json":
            changed[parameter.name] = _json(value, rng, scale)
    return changed


def _number(parameter: Parameter, value: float, rng: random.Random, scale: float) -> float:
    moved = value + rng.gauss(0.0, scale * max(1.0, abs(value)))
    if isinstance(parameter.initial, int):
        moved = round(moved)
    lowest = parameter.minimum if parameter.minimum is not None else moved
    highest = parameter.maximum if parameter.maximum is not None else moved
    return min(max(moved, lowest), highest)


def _code(code: str, rng: random.Random, scale: float) -> str:
    """Change one numeric literal; code without any, or that cannot be read, stays as it is."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return code
    numbers = [t for t in tokens if t.type == tokenize.NUMBER and t.string.replace(".", "", 1).isdigit()]
    if not numbers:
        return code
    token = rng.choice(numbers)
    value = float(token.string)
    if "." in token.string:
        text = repr(round(abs(value + rng.gauss(0.0, scale * max(0.1, abs(value)))), 6))
    else:
        text = str(max(0, round(value) + rng.choice((-2, -1, 1, 2))))
    lines = code.splitlines(keepends=True)
    row, start = token.start[0] - 1, token.start[1]
    lines[row] = lines[row][:start] + text + lines[row][token.end[1] :]
    return "".join(lines)


def _text(text: str, rng: random.Random) -> str:
    """Change one letter of a word, or, in a longer text, swap, repeat or drop a word."""
    words = text.split(" ")
    if len(words) == 1:
        place = rng.randrange(len(text) + 1)
        return text[:place] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[place + rng.choice((0, 1)) :]
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    match rng.choice(("swap", "repeat", "drop")):
        case "swap":
            words[i], words[j] = words[j], words[i]
        case "repeat":
            words.insert(i, words[j])
        case _:
            del words[i]
    return " ".join(words)


def _json(value: Any, rng: random.Random, scale: float) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            moved = value + rng.gauss(0.0, scale * max(1.0, abs(value)))
            return round(moved) if isinstance(value, int) else moved
        case str():
            return _text(value, rng)
        case dict() if value:
            key = rng.choice(sorted(value))
            return {**value, key: _json(value[key], rng, scale)}
        case list() if value:
            i = rng.randrange(len(value))
            return [*value[:i], _json(value[i], rng, scale), *value[i + 1 :]]
        case _:
            return value
