"""Reads the declarations of a Lean text: what it defines, and which of it statements rest on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from tracebench_veribench.text.lexing import LEAN, code_only

_START = re.compile(
    r"^(?![\s|)}\]⟩]|(?:where|termination_by|decreasing_by|deriving|with|else|then|by|end|namespace|section)\b)",
    re.MULTILINE,
)
"""A command begins in the first column; what goes on there is a pattern, a closing bracket or one of these words."""
_HEAD = re.compile(
    r"(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|noncomputable|partial|nonrec|unsafe|local|scoped)\s+)*"
    r"(def|abbrev|structure|inductive|class(?:\s+inductive)?|instance|theorem|lemma|opaque|axiom|alias)\b\s*([^\s(:{\[⟨]*)"
)
_ANYWHERE = re.compile(
    r"(?<![\w.])(?:def|abbrev|structure|inductive|class|theorem|lemma|opaque|axiom|alias|instance)\s+([^\s(:{\[⟨]+)"
)
_WORD = re.compile(r"[^\W\d][\w'?!₀-₉]*")
_OPENED = re.compile(r"(?<![\w.])open\s+(?:scoped\s+)?((?:[\w.']+[ \t]*)+)")
_VERSIONS = frozenset(
    {"aux", "do", "fast", "go", "imp", "impl", "implementation", "iter", "loop", "main", "rec", "tail", "tr"}
)
_PROVEN = frozenset({"theorem", "lemma"})


class Declaration(NamedTuple):
    """One declaration, without comments."""

    kind: str
    name: str
    """As it is written; empty for an instance without one."""
    text: str


def read_declarations(text: str) -> list[Declaration]:
    """Return the declarations that begin in the first column, in file order.

    Raises:
        UnterminatedError: when a comment or a string does not end.
    """
    code = code_only(text, LEAN)
    found: list[Declaration] = []
    attributes = ""
    for block in _blocks(code):
        whole = attributes + block
        if re.fullmatch(r"\s*(?:@\[[^\]]*\]\s*)+", whole):
            attributes = whole
            continue
        attributes = ""
        if head := _HEAD.match(whole):
            body = re.split(r"^(?:end|namespace|section)\b", whole, maxsplit=1, flags=re.MULTILINE)[0]
            found.append(Declaration(head.group(1), head.group(2), body.strip()))
    return found


def find_supporting(text: str, statements: Iterable[str], free: Collection[str] = ()) -> tuple[str, ...]:
    """Return the definitions of `text` that statements rest on, directly or through one another, instances of their types included.

    Definitions that are `free` are the program's: an answer writes its own, and what they rest on is not looked at.
    """
    program = {last_of(name) for name in free}
    definitions = [d for d in read_declarations(text) if d.kind not in _PROVEN and last_of(d.name) not in program]
    wanted: set[Declaration] = set()
    known: set[str] = set()
    queue = list(statements)
    while queue:
        known |= words_of(queue.pop())
        for definition in definitions:
            if definition in wanted:
                continue
            of_known_type = definition.kind == "instance" and any(
                last_of(d.name) in words_of(definition.text)
                for d in wanted
                if d.kind not in {"def", "abbrev", "instance"}
            )
            if of_known_type or (definition.name and last_of(definition.name) in known):
                wanted.add(definition)
                queue.append(definition.text)
    return tuple(d.text for d in definitions if d in wanted)


def find_counterparts(text: str, python: str) -> tuple[str, ...]:
    """Return the definitions that are called like a Python function (`below_zero`: `belowZero`, `doBelowZero`, `belowZeroFast`).

    No other word may be added, so that `isSorted` is not taken for the program `sort`, whose specification it is.
    """
    programs = [_parts_of(name) for name in re.findall(r"^\s*def\s+(\w+)", python, re.MULTILINE)]
    defined = [d.name for d in read_declarations(text) if d.kind in {"def", "abbrev"}]
    return tuple(name for name in dict.fromkeys(defined) if _parts_of(last_of(name)) in programs)


def _parts_of(name: str) -> list[str]:
    """Return the words of a name in either language, without those that tell one version of a program from another."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]", name)]
    return [word for word in words if word not in _VERSIONS] or words


def find_shadows(text: str, fixed: str, own: Collection[str], opened: str) -> Iterator[str]:
    """Yield what is wrong with the names that `text` declares and opens.

    Args:
        fixed: the statements and definitions whose words must keep their meaning.
        own: the names that an answer declares, each once.
        opened: a text that says which namespaces of its own an answer may open.
    """
    code = code_only(text, LEAN)
    declared = Counter(last_of(name) for name in _ANYWHERE.findall(code))
    mine, words = {last_of(name) for name in own}, words_of(fixed)
    for name, times in declared.items():
        if name in mine and times > 1:
            yield f"`{name}` is declared {times} times; declare it once"
        elif name not in mine and name in words:
            yield f"`{name}` is a word of the required statements; declare nothing else of that name"
    allowed = {last_of(name) for found in _OPENED.findall(code_only(opened, LEAN)) for name in found.split()}
    spaces = {last_of(name) for name in re.findall(r"(?<![\w.])namespace\s+([\w.']+)", code)} | set(declared)
    for found in _OPENED.findall(code):
        for name in found.split():
            if last_of(name) in spaces - allowed:
                yield f"`open {name}`: write the names of your own namespace in full"


def words_of(text: str) -> set[str]:
    """Return the parts of all names in a text."""
    return set(_WORD.findall(text))


def last_of(name: str) -> str:
    """Return the last part of a name."""
    return name.rsplit(".", 1)[-1]


def _blocks(code: str) -> Iterator[str]:
    starts = [match.start() for match in _START.finditer(code)]
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        if code[start:end].strip():
            yield code[start:end]
