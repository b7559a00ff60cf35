"""Mutations of one value, by kind: deterministic in the random generator, and of the same type as before."""

from __future__ import annotations

import ast
import io
import math
import random
import re
import tokenize
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracebench_core.specs import Parameter, Values

Json = Any
"""A JSON value; the kind decides what is done to it."""
MOST_CODE_EDITS = 3
MOST_TRIES = 8
"""Steps are drawn anew, so often, while the size of a literal stays as it was."""
FEWEST_SENTENCES_LEFT = 2
LARGEST, LONGEST_LITERAL = 1e300, 300
"""Numbers beyond it, and literals of more characters, stay as they are: steps of their size are beyond what a float holds."""
LARGEST_STEP = 4.0
"""Numbers move by a Gaussian step of up to their own size; one mutation in eight takes a step this many times larger."""


def mutate(value: Json, rng: random.Random, *, hint: Mapping[str, Any] | None = None) -> Json:
    """Return a changed value of the same type; `hint` may hold a parameter's kind, bounds, choices and signature."""
    hint = hint or {}
    if hint.get("choices"):
        return _step(value, hint["choices"], rng)
    if isinstance(value, str):
        is_code = hint.get("kind") == "code" or (hint.get("kind") is None and looks_like_code(value))
        return _code(value, rng) if is_code else _text(value, rng)[: hint.get("max_length")]
    if isinstance(value, int | float):
        return (
            not value
            if isinstance(value, bool)
            else _number(value, rng, low=hint.get("minimum"), high=hint.get("maximum"))
        )
    return _part(value, rng)


def change_one(parameters: Sequence[Parameter]) -> Callable[[Values, random.Random], Values]:
    """Return what changes one parameter of an assignment, drawn by chance, as its kind and bounds allow; the others stay."""
    hints = {parameter.name: parameter.model_dump(mode="json") for parameter in parameters}

    def change(values: Values, rng: random.Random) -> Values:
        name = rng.choice(list(hints))
        return {**values, name: mutate(values[name], rng, hint=hints[name])}

    return change


def looks_like_code(text: str) -> bool:
    """Tell whether a text is Python that defines something."""
    if not re.search(r"^[^\S\n]*(def|class|async def) ", text, flags=re.MULTILINE):
        return False
    return is_python(text)


def is_python(text: str) -> bool:
    """Tell whether a text is valid Python; a method's indentation is forgiven."""
    lines = text.split("\n")
    try:
        ast.parse("\n".join(["if 1:", *(f" {line}" for line in lines)]) if lines[0][:1].isspace() else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _step(value: Json, choices: Sequence[Json], rng: random.Random) -> Json:
    others = [choice for choice in choices if choice != value]
    return rng.choice(others) if others else value


def _number(value: float, rng: random.Random, *, low: float | None = None, high: float | None = None) -> float:
    if abs(value) > LARGEST:
        return value
    size = abs(value) if value else 1.0
    if low is not None and high is not None:
        size = min(size, high - low)
    reach = size * (LARGEST_STEP if rng.random() < 1 / 8 else 0.25 + 0.75 * rng.random())
    if isinstance(value, int):
        moved: float = value + (round(rng.gauss(0, 1) * reach) or rng.choice((-1, 1)))
    else:
        moved = float(f"{value + rng.gauss(0, 1) * reach:.6g}")
    moved = moved if low is None else max(moved, low)
    moved = moved if high is None else min(moved, high)
    return int(moved) if isinstance(value, int) else float(moved)


def _code(source: str, rng: random.Random) -> str:
    """Return the source with one to three numeric literals changed, below the first signature; valid Python or unchanged."""
    literals = _literals(source)
    if not literals:
        return source
    chosen = rng.sample(literals, k=min(len(literals), rng.randint(1, MOST_CODE_EDITS)))
    lines = source.split("\n")
    for row, start, end in sorted(chosen, reverse=True):
        line = lines[row]
        lines[row] = line[:start] + _literal(line[start:end], rng) + line[end:]
    changed = "\n".join(lines)
    return changed if is_python(changed) else source


def _literals(source: str) -> list[tuple[int, int, int]]:
    """Return (row, start, end) of each decimal literal; those of a first signature stay as they are."""
    found: list[tuple[int, int, int]] = []
    first_code_row = _row_after_signature(source)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            row = token.start[0] - 1
            if (
                token.type == tokenize.NUMBER
                and row >= first_code_row
                and re.fullmatch(r"[\d.]+(e-?\d+)?", token.string)
            ):
                found.append((row, token.start[1], token.end[1]))
    except (tokenize.TokenError, IndentationError):
        return []
    return found


def _row_after_signature(source: str) -> int:
    lines = source.split("\n")
    start = next((row for row, line in enumerate(lines) if re.match(r"\s*(async )?def ", line)), None)
    if start is None:
        return 0
    end = next((row for row in range(start, len(lines)) if lines[row].split("#")[0].rstrip().endswith(":")), start)
    return end + 1


def _literal(text: str, rng: random.Random) -> str:
    if len(text) > LONGEST_LITERAL:
        return text
    value = float(text) if "." in text or "e" in text else int(text)
    moved = value
    for _ in range(MOST_TRIES):
        moved = abs(_number(value, rng))  # a literal has no sign: `x-3` must not become `x--3`
        if moved != value:
            break
    return repr(moved) if math.isfinite(moved) else text


def _text(text: str, rng: random.Random) -> str:
    """Return the text with sentences reordered, doubled, dropped, or neighbouring words exchanged."""
    sentences = re.findall(r"[^.!?\n]+[.!?\n]*\s*", text)
    if len(sentences) > 1 and rng.random() < 2 / 3:
        first, second = rng.sample(range(len(sentences)), 2)
        sentences[first], sentences[second] = sentences[second], sentences[first]
        if len(sentences) > FEWEST_SENTENCES_LEFT and rng.random() < 1 / 3:
            sentences.pop(rng.randrange(len(sentences)))
        return " ".join(sentence.strip() for sentence in sentences)
    words = text.split(" ")
    if len(words) > 1:
        place = rng.randrange(len(words) - 1)
        words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words) + rng.choice((" Be precise.", " Think step by step.", " Check the answer.", " Be brief."))


def _part(value: Json, rng: random.Random) -> Json:
    """Change one item of a list or one entry of an object; what is empty stays empty."""
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        return [*value[:place], mutate(value[place], rng), *value[place + 1 :]]
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        return value | {key: mutate(value[key], rng)}
    return value
