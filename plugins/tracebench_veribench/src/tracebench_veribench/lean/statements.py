"""Reads theorems off Lean text: names, and statements in a normal form that spacing and comments do not change."""

from __future__ import annotations

import re

from tracebench_veribench.text.lexing import LEAN, code_only

_DECLARATION = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable)\s+)*(?:theorem|lemma)\s+([^\s(:{\[]+)",
    re.MULTILINE,
)
_SCOPE = re.compile(r"^[ \t]*(namespace|section|end)\b[ \t]*([\w.«»']*)", re.MULTILINE)
_VACUOUS = ("\N{LOGICAL OR} True", "→ True")
_OPEN, _CLOSE = "([{⟨", ")]}⟩"


def find_theorems(text: str) -> dict[str, str]:
    """Return the full name of each theorem or lemma and its normalised statement, binders included, in file order.

    Raises:
        UnterminatedError: when a comment or a string does not end.
    """
    code = code_only(text, LEAN)
    found: dict[str, str] = {}
    for match in _DECLARATION.finditer(code):
        statement = code[match.end() : _statement_end(code, match.end())]
        found.setdefault(_full_name(code, match.start(), match.group(1)), normalise(statement))
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


def _statement_end(code: str, start: int) -> int:
    """Return where the statement ends: at `:=` outside of brackets, at `| pattern`, or at `where`."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in _OPEN:
            depth += 1
        elif code[at] in _CLOSE:
            depth -= 1
        elif depth == 0 and (code.startswith(":=", at) or re.match(r"\n\s*\||\bwhere\b", code[at:])):
            return at
    return len(code)


def _full_name(code: str, at: int, name: str) -> str:
    scopes: list[tuple[str, str]] = []
    for kind, label in (m.groups() for m in _SCOPE.finditer(code, 0, at)):
        if kind == "end":
            if scopes:
                scopes.pop()
        else:
            scopes.append((kind, label))
    return ".".join([label for kind, label in scopes if kind == "namespace"] + [name.removeprefix("_root_.")])


def contains(text: str, definition: str) -> bool:
    """Tell whether `text` holds a definition word for word, spacing and comments aside."""
    return normalise(code_only(definition, LEAN)) in normalise(code_only(text, LEAN))
