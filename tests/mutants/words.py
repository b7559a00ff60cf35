"""Tests whose words are closest to what a mutant changes: the choice among files that have no record of what they reach.

Words that few tests have weigh more. Those of the function around the mutated line count most, then those of its module's names.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

WORD = re.compile(r"[A-Za-z][a-z]{2,}|[A-Z]{2,}")
AROUND, MODULE = 3.0, 1.0
"""How much a word counts that the function has, and one that the module has elsewhere."""


class Closeness:
    """The words of all tests in some files."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self._words = {
            f"{file}::{name}": words(text) | words(file)
            for file in files
            for name, text in functions((root / file).read_text(encoding="utf-8"))
            if name.rpartition("::")[2].startswith("test_")
        }
        told = Counter(word for found in self._words.values() for word in found)
        self._weight = {word: math.log(len(self._words) / times) for word, times in told.items()}

    def tests(self, module: str, source: str, line: int) -> list[str]:
        """Return tests that share words with a line of a module, the rarest first: a plugin's own, or those of the libraries."""
        near = words(around(source, line))
        far = words(module) | words(source)
        home = "/".join((*module.split("/")[:2], "tests/")) if module.startswith("plugins/") else "tests/"
        scores = {test: self._score(found, near, far) for test, found in self._words.items() if test.startswith(home)}
        return sorted(scores, key=lambda test: (-scores[test], test))

    def _score(self, found: set[str], near: set[str], far: set[str]) -> float:
        shared = AROUND * sum(self._weight[word] for word in found & near)
        shared += MODULE * sum(self._weight[word] for word in found & far)
        return shared / math.sqrt(10 + len(found))  # a long test shares words with everything


def words(text: str) -> set[str]:
    """Return the words of a text; of a name its parts."""
    return {word.lower() for word in WORD.findall(text)}


def functions(source: str) -> list[tuple[str, str]]:
    """Return the functions of a text and of its classes, as pytest names them, with their own texts."""
    tree = ast.parse(source)
    lines = source.splitlines()
    found = list[tuple[str, str]]()
    for prefix, body in [("", tree.body), *((f"{n.name}::", n.body) for n in tree.body if isinstance(n, ast.ClassDef))]:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found.append((f"{prefix}{node.name}", "\n".join(lines[first - 1 : node.end_lineno])))
    return found


def around(source: str, line: int) -> str:
    """Return the text of the function or class around a line; of its statement, where it is in none."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    nodes = [node for node in nodes if node.lineno <= line <= (node.end_lineno or 0)]
    chosen = [node for node in nodes if isinstance(node, kinds)] or nodes
    if not chosen:
        return source.splitlines()[line - 1]
    inner = max(chosen, key=lambda node: node.lineno)
    return "\n".join(source.splitlines()[inner.lineno - 1 : inner.end_lineno])
