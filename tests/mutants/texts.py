"""Mutants of a text: cosmic-ray's, less those that differ in annotations alone, for nothing runs these."""

from __future__ import annotations

import ast
import difflib
import hashlib
import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import parso
from cosmic_ray.ast import Visitor, ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names
from tests.mutants.marks import named_lines


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed text of a module."""

    module: str
    text: str
    line: int
    change: str
    """Lines taken out (`-`) and put in (`+`)."""

    def place(self, source: str) -> str:
        """Return a name of its line that holds wherever the line moves."""
        return f"{self.module}:{named_lines(source)[self.line - 1]}"


def mutants_of(name: str, source: str, *, most: int, lines: Container[int] | None = None) -> list[Mutant]:
    """Return mutants of a module, at most so many, in the order of its lines; `lines` leaves out those of all others."""
    tree = get_ast(source)
    places = [
        (operator, occurrence)
        for operator in _operators()
        for occurrence, _ in enumerate(p for node in ast_nodes(tree) for p in operator.mutation_positions(node))
    ]
    random.Random(7).shuffle(places)
    seen, chosen = {_executed(source)}, list[Mutant]()
    while places and len(chosen) < most:
        try:
            text = mutate_code(source, *places.pop())
        except AttributeError:  # cosmic-ray's, at `except (a.b, c):`
            continue
        if text is None or (runs := _executed(text)) is None or runs in seen:
            continue
        seen.add(runs)
        mutant = _mutant(name, source, text)
        if lines is None or mutant.line in lines:
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: (mutant.line, mutant.change))


def drawn(root: Path, modules: Sequence[str], *, seed: int) -> Iterator[Mutant]:
    """Return mutants in the order of a draw, to the last line: of lines that have one, each is as likely as any other to come next.

    Where a line comes depends on the seed, its module and its text alone, so that changes elsewhere leave the draw as it is.
    """
    sources = {name: (root / name).read_text(encoding="utf-8") for name in modules}
    lines = [
        (hashlib.sha256(f"{seed}\0{module}\0{name}".encode()).digest(), module, number)
        for module, source in sources.items()
        for number, name in enumerate(named_lines(source), 1)
    ]
    tree = cache(lambda name: get_ast(sources[name]))
    for place, module, line in sorted(lines):
        ways = _ways(tree(module), line)
        random.Random(place).shuffle(ways)
        for operator, node, index in ways:
            try:
                text = _Change(operator, node, index).walk(get_ast(sources[module])).get_code()
            except AttributeError:
                continue
            runs = _executed(text)
            if runs is not None and runs != _executed(sources[module]):
                yield _mutant(module, sources[module], text)
                break


@cache
def _operators() -> list[Operator]:
    return [kind() for kind in map(get_operator, sorted(operator_names())) if not kind.arguments()]


def _ways(tree: parso.tree.Node, line: int) -> list[tuple[Operator, int, int]]:
    """Return the mutations that begin on a line: the operator, which node of the tree, which of the node's."""
    near = [(n, node) for n, node in enumerate(ast_nodes(tree)) if node.start_pos[0] <= line <= node.end_pos[0]]
    return [
        (operator, n, index)
        for operator in _operators()
        for n, node in near
        for index, (start, _) in enumerate(operator.mutation_positions(node))
        if start[0] == line
    ]


class _Change(Visitor):
    """Changes one node of a tree."""

    def __init__(self, operator: Operator, place: int, index: int) -> None:
        self._operator, self._left, self._index = operator, place, index

    def visit(self, node: parso.tree.NodeOrLeaf) -> parso.tree.NodeOrLeaf | None:
        """Return the node, or what stands in its place."""
        self._left -= 1
        return self._operator.mutate(node, self._index) if self._left == -1 else node


def _mutant(name: str, source: str, text: str) -> Mutant:
    diff = list(difflib.unified_diff(source.splitlines(), text.splitlines(), n=0, lineterm=""))[2:]
    line = int(diff[0].split()[1].lstrip("-").partition(",")[0])
    line += next(
        (n for n, d in enumerate(diff[1:]) if d[:1] == "-" and d[1:].strip()), 0
    )  # a decorator takes blank lines along
    change = "\n".join(d[0] + " " + d[1:].strip() for d in diff if not d.startswith("@@"))
    return Mutant(name, text, line, change)


def _executed(source: str) -> str | None:
    """Return what of a text is executed: all but annotations; None where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)
