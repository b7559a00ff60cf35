"""Reads theorems off Lean text: names, and statements in a normal form that spacing and comments do not change."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from tracebench_veribench.text.lexing import LEAN, code_only

_DECLARATION = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable)\s+)*(?:theorem|lemma)\s+([^\s(:{\[]+)",
    re.MULTILINE,
)
_SCOPE = re.compile(r"^[ \t]*(namespace|section|end)\b[ \t]*([\w.«»']*)", re.MULTILINE)
_VACUOUS = ("\N{LOGICAL OR} True", "→ True")
_MARK = re.compile(r"(?P<open>[(\[{⟨])|(?P<close>[)\]}⟩])|:=|\bwhere\b|\s++\|?")
"""What may open or close a bracket, or end a statement: a run of blanks where `|` stands behind it on a further line."""


def find_theorems(text: str) -> dict[str, str]:
    """Return the full name of each theorem or lemma and its normalised statement, binders included, in file order.

    Raises:
        UnterminatedError: when a comment or a string does not end.
    """
    code = code_only(text, LEAN)
    found: dict[str, str] = {}
    declared = list(_DECLARATION.finditer(code))
    stops = [*(match.start() for match in declared[1:]), len(code)]
    for match, space, stop in zip(declared, _spaces(code, declared), stops, strict=False):
        end = _statement_end(code, match.end(), stop)
        name = ".".join([*space, match.group(1).removeprefix("_root_.")])
        found.setdefault(name, normalise(code[match.end() : end]))
    return found


def normalise(statement: str) -> str:
    """Return the statement with single blanks between its parts, and none beside brackets, commas and colons."""
    squeezed = " ".join(statement.split())
    return re.sub(r"\s*([()\[\]{}⟨⟩,:])\s*", r"\1", squeezed)


def is_trivial(statement: str) -> bool:
    """Tell whether a normalised statement says nothing: `True`, or one side equal to itself."""
    claim = statement.rsplit(":", 1)[-1] if ":" in statement else statement
    claim = claim.rsplit(",", 1)[-1].strip()
    sides = re.split(r" (?:=|↔|==|≤|→) ", claim)
    return claim == "True" or claim.endswith(_VACUOUS) or (len(sides) == 2 and sides[0] == sides[1])  # noqa: PLR2004


def _statement_end(code: str, start: int, stop: int) -> int:
    """Return where the statement ends: at `:=` outside of brackets, at `| pattern`, or at `where`; before the next declaration at last."""
    depth = 0
    for mark in _MARK.finditer(code, start, stop):
        depth += (mark["open"] is not None) - (mark["close"] is not None)
        is_end = mark[0] in {":=", "where"} or (mark[0].endswith("|") and "\n" in mark[0])
        if depth == 0 and is_end:
            return mark.start()
    return stop


def _spaces(code: str, declared: Iterable[re.Match[str]]) -> Iterator[list[str]]:
    """Yield the namespaces that each declaration stands in, from the outermost."""
    marks = deque(_SCOPE.finditer(code))
    scopes: list[tuple[str, str]] = []
    for match in declared:
        while marks and marks[0].start() < match.start():
            kind, label = marks.popleft().groups()
            if kind != "end":
                scopes.append((kind, label))
            elif scopes:
                scopes.pop()
        yield [label for kind, label in scopes if kind == "namespace"]


def contains(text: str, definition: str) -> bool:
    """Tell whether `text` holds a definition word for word, spacing and comments aside."""
    return normalise(code_only(definition, LEAN)) in normalise(code_only(text, LEAN))
