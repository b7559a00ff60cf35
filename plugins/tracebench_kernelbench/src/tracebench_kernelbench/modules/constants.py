"""A problem's sizes: the whole numbers that its file names at module level, read and rewritten without running it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping

_OPERATORS = {
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
_LARGEST_EXPONENT = 62


def read_constants(code: str) -> dict[str, int]:
    """Return the names that stand for one whole number each, however it is written (`8`, `2048 * 2`, `height = width = 64`, `a, b = 1, 2`).

    Raises:
        SyntaxError: for code that is no Python.
    """
    return {name: value for name, _, value in _found(code) if value is not None}


def rewrite_constants(code: str, values: Mapping[str, int]) -> str:
    """Return the code with those names standing for other numbers; everything else stays, byte for byte.

    Raises:
        ValueError: for a name that stands for no whole number here.
    """
    places = {name: node for name, node, value in _found(code) if value is not None}
    if missing := sorted(values.keys() - places):
        raise ValueError(f"the code names no whole number `{missing[0]}`")
    edits: dict[tuple[int, int, int, int], set[int]] = {}
    for name, value in values.items():
        node = places[name]
        place = (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
        edits.setdefault(place, set()).add(value)
    if torn := next((place for place, numbers in edits.items() if len(numbers) > 1), None):
        raise ValueError(f"line {torn[0]} names several constants at once: they take one value")
    lines = [line.encode() for line in code.splitlines(keepends=True)]
    for (line, start, last, end), numbers in sorted(edits.items(), reverse=True):
        head, tail = lines[line - 1][:start], lines[last - 1][end:]
        lines[line - 1 : last] = [head + str(min(numbers)).encode() + tail]
    return b"".join(lines).decode()


def _found(code: str) -> Iterator[tuple[str, ast.expr, int | None]]:
    for statement in ast.parse(code).body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value, _number(statement.value)
            elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                for element, value in zip(target.elts, statement.value.elts, strict=False):
                    if isinstance(element, ast.Name):
                        yield element.id, value, _number(value)


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None or (isinstance(node.op, ast.FloorDiv) and right == 0):
        return None
    if isinstance(node.op, ast.Pow) and not 0 <= right <= _LARGEST_EXPONENT:
        return None
    value: int = _OPERATORS[type(node.op)](left, right)
    return value
