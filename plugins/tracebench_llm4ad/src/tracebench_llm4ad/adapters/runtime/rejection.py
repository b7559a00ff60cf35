"""Finds the rule by which a foreign evaluator rejects a program: the exception that it swallowed, or the condition that held.

Most evaluators say no more than None or minus infinity. One that did is run again on the same answers, its own functions traced.
"""

from __future__ import annotations

import ast
import copy
import math
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = 5.0
"""What an explanation may take; less than the margin that an evaluator has beyond its limit."""
SHOWN = 6
"""Variables of a condition that are told."""


class TooLong(BaseException):
    """The explanation takes too long; no evaluator catches it."""


class Noted:
    """A function that notes its values and what it made of one argument, a list, and can be asked for them again."""

    def __init__(self, function: Callable[..., Any], *, written_back: int | None = None) -> None:
        self._function = function
        self._written_back = written_back
        self._values: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        value = self._function(*args, **kwargs)
        changed = None if self._written_back is None else args[self._written_back]
        self._values.append(copy.deepcopy((value, changed)))
        return value

    def again(self) -> Callable[..., Any]:
        """Return a function that gives what was noted, in its order."""
        values = iter(self._values)

        def repeated(*args: Any, **_kwargs: Any) -> Any:
            value, changed = next(values)
            if self._written_back is not None:
                args[self._written_back][:] = changed
            return value

        return repeated


class Rejection:
    """A tracer of the functions in one folder. `words` is the rule that the last of them to return applied; empty where none is seen."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder) + os.sep
        self._raised: dict[FrameType, str] = {}
        self._leaving: set[FrameType] = set()
        self._told: dict[
            FrameType | None, tuple[int, str]
        ] = {}  # by caller: the line of the call, and the callee's words
        self._deadline = math.inf
        self.words = ""

    def watch(self, run: Callable[[], object]) -> str:
        """Run something, and return the rule that it applied."""
        before = sys.gettrace()
        self._deadline = time.monotonic() + SECONDS
        sys.settrace(self._enter)
        try:
            run()
        except TooLong:
            return ""
        finally:
            sys.settrace(before)
        return self.words

    def _enter(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        return self._inside if os.path.realpath(frame.f_code.co_filename).startswith(self._folder) else None

    def _inside(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception":
            kind, value, _ = arg
            self._raised[frame] = f"{kind.__name__}: {value}"
            self._leaving.add(frame)
        elif event == "line":
            if time.monotonic() > self._deadline:
                raise TooLong
            self._leaving.discard(frame)
        elif event == "return" and frame not in self._leaving:
            self.words = self._rule(frame) if _rejects(arg) else ""
            caller = frame.f_back
            self._told[caller] = (caller.f_lineno if caller else 0, self.words)
        return self._inside

    def _rule(self, frame: FrameType) -> str:
        """Return the rule by which a function came to its `return`: that of the function it asked, else its own."""
        place = _place(frame.f_code.co_filename, frame.f_lineno)
        if place is None:
            return ""
        returned, holder = place
        line, words = self._told.get(frame, (0, ""))
        asked: list[ast.stmt | ast.expr] = [returned, *([holder.test] if isinstance(holder, ast.If) else [])]
        if words and any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in asked):
            return words
        if isinstance(holder, ast.ExceptHandler):
            return self._raised.get(frame, "")
        if isinstance(holder, ast.If):
            seen = _values(holder.test, frame)
            given = f", with {seen}" if seen else ""
            return f"`{ast.unparse(holder.test)}` in `{frame.f_code.co_name}`{given}"
        return ""


def _rejects(value: Any) -> bool:
    """Tell whether a value says no: None, False, or a number that is not finite."""
    if value is None:
        return True
    if type(value).__name__ in {"bool", "bool_"}:
        return not value
    try:
        return not math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _place(file: str, line: int) -> tuple[ast.Return, ast.If | ast.ExceptHandler | None] | None:
    """Return the `return` on a line, and the condition or handler that it stands in."""
    found: tuple[ast.Return, ast.If | ast.ExceptHandler | None] | None = None

    def visit(node: ast.AST, holder: ast.If | ast.ExceptHandler | None) -> None:
        nonlocal found
        if isinstance(node, ast.Return) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node, holder
        for field, value in ast.iter_fields(node):
            inner = node if isinstance(node, ast.If | ast.ExceptHandler) and field == "body" else holder
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, None if isinstance(child, ast.FunctionDef | ast.Lambda) else inner)

    visit(_tree(file), None)
    return found


def _values(test: ast.expr, frame: FrameType) -> str:
    """Return the numbers that a condition's own variables had."""
    names = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name))
    told = []
    for name in names:
        value: Any = frame.f_locals.get(name)
        if hasattr(value, "item") and getattr(value, "size", 0) == 1:
            value = value.item()
        elif hasattr(value, "tolist") and 1 < getattr(value, "size", 0) <= SHOWN:
            value = value.tolist()
        if isinstance(value, int | float | str | list | tuple) and len(repr(value)) <= 100:  # noqa: PLR2004 - of a line
            told.append(f"{name} = {value!r}")
    return ", ".join(told[:SHOWN])
