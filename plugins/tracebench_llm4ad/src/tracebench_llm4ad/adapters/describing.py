"""Puts a task's description together again from what a tree holds of it: a constant that may be cut, a template, a docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

CUT = re.compile(r"""^\(?\s*(?:[rfRF]?("{1,3}|'{1,3}))""")
SHORT = 20
"""A description of fewer characters tells nothing."""


def is_cut(text: str) -> bool:
    """Return whether a description is only the first piece of an implicit concatenation, or nearly nothing."""
    stripped = text.strip()
    opened = stripped.startswith("(") and not stripped.endswith(")")
    return len(stripped) < SHORT or opened or bool(CUT.match(stripped))


def mended(text: str) -> str:
    """Return what a cut description still says, without the brackets and quotation marks of the source."""
    stripped = text.strip()
    try:
        value = ast.literal_eval(stripped)
    except (ValueError, SyntaxError, MemoryError):
        value = None
    if isinstance(value, str):
        return value.strip()
    return stripped.strip("()\"' \n").strip()


def describe(candidates: Iterable[str], *, program: str, entry: str) -> str:
    """Return the best description: the longest whole one, else what the cut ones still say, then the function's docstring."""
    texts = [text for text in candidates if text and text.strip()]
    whole = [text.strip() for text in texts if not is_cut(text)]
    rest = sorted((mended(text) for text in texts if is_cut(text)), key=len)
    best = max(whole, key=len, default="")
    if not best and rest and len(rest[-1]) >= SHORT:
        best = f"{rest[-1]} [...]"
    documented = docstring(program, entry)
    if documented and documented not in best:
        best = f"{best}\n\nThe function `{entry}`, as its starting version documents it:\n{documented}".strip()
    return best or f"Improve the function `{entry}`. The tree describes it no further."


def docstring(program: str, entry: str) -> str:
    """Return the docstring of a program's function, or nothing."""
    try:
        body = ast.parse(program).body
    except (SyntaxError, ValueError):
        return ""
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name == entry:
            return (ast.get_docstring(statement) or "").strip()
    return ""
