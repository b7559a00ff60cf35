"""Marks in a module's text that write down which test runs what a mutant changes, in whatever process that happens.

A mark is a statement before the one that is changed. What runs at the import alone is marked where it shows: in functions that it
defines, that say its name, that stand beside it. Each of these places is a degree; the tests of the first degree that any test reaches
are to notice.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
REACHED = '''
"""Writes down that a mark was reached, and under which number the test is known that ran then."""
import mmap, os
_folder = {folder!r}
_seen = set()
try:
    with open(_folder + "/now", "rb") as _file:
        _now = mmap.mmap(_file.fileno(), 4, prot=mmap.PROT_READ)
except OSError:  # it is shut in
    _now = None

def hit(mark):
    if _now is None or (mark, _now[:4]) in _seen:
        return
    _seen.add((mark, now := _now[:4]))
    try:
        found = os.open(_folder + "/reached", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(found, b"%d %d\\n" % (mark, int.from_bytes(now, "little")))
        os.close(found)
    except OSError:
        pass
'''
"""The module that marks call; `now` holds the number of what runs, and `reached` gets a line for each mark and number."""


def named_lines(source: str) -> list[str]:
    """Return a name for each line of a text that holds wherever the line moves: which of equal ones it is, and what it says."""
    seen = Counter[str]()
    names = []
    for line in source.splitlines():
        text = line.strip()
        seen[text] += 1
        names.append(f"{seen[text]} {text}")
    return names


def runs_at_import(source: str, line: int) -> bool:
    """Return whether a line is outside of all functions; what a signature says is."""
    return not any(f.body[0].lineno <= line <= (f.end_lineno or 0) for f in _functions(ast.parse(source)))


def degrees(mutated: str, line: int, sources: Mapping[str, str]) -> list[dict[str, set[int]]]:
    """Return places to mark for a line of a module, the best first: by module, the lines of statements inside of functions."""
    tree = ast.parse(sources[mutated])
    for function in _functions(tree):
        if function.body[0].lineno <= line <= (function.end_lineno or 0):
            return [{mutated: {_statement(tree, line)}}]
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in _span(node)]
    inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)
    within = [node for node in around if isinstance(node, ast.ClassDef)]
    said = _name(inner)
    saying = re.compile(rf"\b{re.escape(said)}\b") if said else None
    home = mutated.partition("/src/")[0]
    return [
        {mutated: {_entry(f) for f in _functions(inner)} if isinstance(inner, Function | ast.ClassDef) else set()},
        {mutated: _saying(tree, sources[mutated], saying)},
        {mutated: {_entry(f) for node in within[-1:] for f in _functions(node)}},
        {
            module: _saying(ast.parse(text), text, saying)
            for module, text in sources.items()
            if saying and module.startswith(f"{home}/") and module != mutated and saying.search(text)
        },
        {mutated: {_entry(f) for f in _functions(tree)}},
    ]


def _functions(node: ast.AST) -> Iterator[Function]:
    return (inner for inner in ast.walk(node) if isinstance(inner, Function))


def _entry(function: Function) -> int:
    return function.body[0].lineno


def _span(node: ast.stmt) -> range:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or 0) + 1)


def _statement(tree: ast.AST, line: int) -> int:
    """Return the first line of the statement on a line; of what an `except` or a `case` leads to, where it stands on one."""
    for node in ast.walk(tree):
        at = node.lineno if isinstance(node, ast.ExceptHandler) else getattr(node, "pattern", node)
        if isinstance(node, ast.ExceptHandler | ast.match_case) and (at if isinstance(at, int) else at.lineno) == line:
            return node.body[0].lineno
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and line in _span(node)]
    return max(node.lineno for node in around)


def _name(node: ast.stmt | None) -> str:
    if isinstance(node, Function | ast.ClassDef):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return next((n.id for target in targets if target for n in ast.walk(target) if isinstance(n, ast.Name)), "")


def _saying(tree: ast.AST, source: str, name: re.Pattern[str] | None) -> set[int]:
    lines = [n for n, text in enumerate(source.splitlines(), 1) if name and name.search(text)]
    return {_entry(f) for f in _functions(tree) if any(_entry(f) <= n <= (f.end_lineno or 0) for n in lines)}


def marked(source: str, marks: Mapping[int, Iterable[int]]) -> str:
    """Return a text with marks: by line, the numbers of what is told before its statement runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not isinstance(node, ast.Module | ast.ClassDef):
                setattr(node, field, [each for old in block for each in (*_marks(old, marks), old)])
    for function in _functions(tree):
        _docstring_first(function)
    return ast.unparse(ast.fix_missing_locations(tree))


def _marks(node: ast.AST, marks: Mapping[int, Iterable[int]]) -> list[ast.stmt]:
    if not isinstance(node, ast.stmt):
        return []
    text = "try:\n    __import__('_reached').hit({})\nexcept Exception:\n    pass"
    made = [ast.parse(text.format(mark)).body[0] for mark in sorted(marks.get(node.lineno, ()))]
    for inner in (inner for mark in made for inner in ast.walk(mark) if isinstance(inner, ast.stmt)):
        inner.lineno = 0  # on no line that has a mark
    return made


def _docstring_first(function: Function) -> None:
    for n, node in enumerate(function.body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            if all(isinstance(before, ast.Try) for before in function.body[:n]):
                function.body.insert(0, function.body.pop(n))
            return


def mark_all(root: Path, places: Mapping[str, Mapping[int, set[int]]]) -> None:
    """Put marks into modules below a folder: by module, by line, their numbers."""
    for module, lines in places.items():
        path = root / module
        path.write_text(marked(path.read_text(encoding="utf-8"), lines), encoding="utf-8")


def by_module(
    asked: Iterable[list[dict[str, set[int]]]],
) -> tuple[dict[str, dict[int, set[int]]], list[tuple[int, int]]]:
    """Number all places: by module and line the numbers, and for each number which of `asked` it serves, and its degree."""
    found: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    told = list[tuple[int, int]]()
    for turn, each in enumerate(asked):
        for degree, places in enumerate(each):
            for module, lines in places.items():
                for line in lines:
                    found[module][line].add(len(told))
            told.append((turn, degree))
    return found, told
