"""Expressions of integers that are read, not executed: sums, products, rests, `abs`, `min` and `max` of named numbers."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

Number = int | float
Meaning = Callable[[Mapping[str, Number]], Number]
DEEPEST = 30
"""Brackets within brackets."""
LARGEST = 10**9
"""What a result, and a number in the text, may come to."""
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_CALLS: dict[str, tuple[Callable[..., Any], int, int]] = {"abs": (abs, 1, 1), "min": (min, 2, 9), "max": (max, 2, 9)}
"""With the fewest and the most arguments."""


class BadExpressionError(ValueError):
    """A text that is no such expression, or has no value; the words say why."""


def tree(text: str) -> ast.expr:
    """Return the syntax of one expression.

    Raises:
        BadExpressionError: it has none.
    """
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as err:
        raise BadExpressionError(f"it is no expression: {err.msg}") from err
    except (ValueError, RecursionError, MemoryError) as err:
        raise BadExpressionError("it is no expression that can be read") from err


@lru_cache(maxsize=2048)
def meaning(text: str, names: tuple[str, ...]) -> Meaning | BadExpressionError:
    """Return what computes an expression of these names, or why there is nothing; nothing of the text is executed."""
    try:
        return _meant(tree(text), names, DEEPEST)
    except BadExpressionError as err:
        return err


def value(meant: Meaning, given: Mapping[str, Number]) -> Number:
    """Return the value for some numbers.

    Raises:
        BadExpressionError: it has none, or one that is too large.
    """
    try:
        found = meant(given)
        if not math.isfinite(found) or abs(found) > LARGEST:
            raise BadExpressionError(f"it comes to more than {LARGEST}")
    except ZeroDivisionError as err:
        raise BadExpressionError("it divides by zero") from err
    except OverflowError as err:
        raise BadExpressionError(f"it comes to more than {LARGEST}") from err
    return found


def _meant(node: ast.expr, names: tuple[str, ...], depth: int) -> Meaning:
    if depth == 0:
        _refuse(f"it has more than {DEEPEST} brackets within brackets")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and abs(number) <= LARGEST:
            return lambda _: number
        case ast.Name(id=name) if name in names:
            return operator.itemgetter(name)
        case ast.UnaryOp(op=sign, operand=inner) if type(sign) in _UNARY:
            turned, one = _UNARY[type(sign)], _meant(inner, names, depth - 1)
            return lambda given: turned(one(given))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            joined, first, second = _BINARY[type(sign)], _meant(left, names, depth - 1), _meant(right, names, depth - 1)
            return lambda given: joined(first(given), second(given))
        case ast.Call(func=ast.Name(id=name), args=[*inner], keywords=[]) if name in _CALLS:
            called, fewest, most = _CALLS[name]
            if fewest <= len(inner) <= most:
                parts = [_meant(part, names, depth - 1) for part in inner]
                return lambda given: called(*[part(given) for part in parts])
    return _refuse(f"`{ast.unparse(node)[:40]}` is not allowed in it")


def _refuse(why: str) -> NoReturn:
    raise BadExpressionError(why)
