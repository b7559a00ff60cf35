"""Mutants drawn by chance over all lines of all modules, each tried on tests that reach its line.

`just mutants --draw 400 --seed 1` goes on where it stopped: what tests reach and what became of each mutant are kept in a folder
outside the repository. The mutant takes the module's place in a copy of the working tree, with an environment of its own, so that
processes which tests start have it, too. A mutant that no test reaches has survived.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from tests.mutants.named import name_of, tests_of
from tests.mutants.reach import ROOT, SOURCES, Copy, Reach, Test
from tests.mutants.texts import Mutant, drawn, named_lines

MOST, SECONDS = 40, 5.0
"""Tests that a mutant is tried on: those of files that name its module first, then the quickest, while they take no longer together."""
UNKNOWN, PATIENCE = 1.0, 15.0
"""Seconds that a file of tests without a record is taken to need, and how many times its tests' own a mutant has."""
FILES = ("tests/unit", "plugins/*/tests")
"""Where the tests are whose reach is recorded."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    key: str
    tests: list[str]
    """On which it was tried."""
    failed: str
    """The test that failed first; "" where it survived."""


class Outcomes:
    """Outcomes of this run and of earlier ones, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = {outcome.key: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}

    def find(self, mutant: Mutant) -> Outcome | None:
        """Return the last outcome of a mutant."""
        return self._known.get(_key(mutant))

    def add(self, mutant: Mutant, tests: list[str], failed: str) -> None:
        """Keep an outcome."""
        outcome = Outcome(_key(mutant), tests, failed)
        self._known[outcome.key] = outcome
        with self._path.open("a") as sink:
            sink.write(json.dumps(asdict(outcome)) + "\n")


def _key(mutant: Mutant) -> str:
    return hashlib.sha256(f"{mutant.module}\0{mutant.text}".encode()).hexdigest()[:24]


class Server:
    """The process that runs tests in the copy."""

    def __init__(self, copy: Copy, log: Path) -> None:
        self._process = subprocess.Popen(
            [copy.python, "-m", "tests.mutants.server", str(log)],
            cwd=copy.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def first_failure(self, tests: list[Test], module: str) -> str:
        """Return the first of these tests that fails where a module is as it is in the copy now, "" if all pass."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        seconds = PATIENCE * (1 + sum(test.seconds for test in tests))
        order = {"tests": [test.name for test in tests], "module": name_of(module), "seconds": seconds}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return str(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@contextmanager
def in_place(copy: Copy, mutant: Mutant) -> Iterator[None]:
    """Put a mutant's text in the place of its module."""
    path = copy.folder / mutant.module
    source = path.read_text(encoding="utf-8")
    try:
        _write(path, mutant.text)
        yield
    finally:
        _write(path, source)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)  # two texts of one size within a second are one to the import system


def tests_for(mutant: Mutant, source: str, reach: Reach) -> list[Test]:
    """Return the tests that a mutant is tried on, in this order; a file that has no record is one where it names the module."""
    names = named_lines(source)
    near = tests_of(mutant.module)
    found = list[Test]()
    for lines in lines_that_show(source, mutant.line):
        if found := reach.tests(mutant.module, [names[line - 1] for line in lines]):
            break
    found.sort(key=lambda test: (test.name.partition("::")[0] not in near, test.seconds))
    chosen, total = list[Test](), 0.0
    for test in found[:MOST]:
        total += test.seconds
        if chosen and total > SECONDS:
            break
        chosen.append(test)
    return chosen + [Test(file, UNKNOWN) for file in near if not reach.has(file)]


def lines_that_show(source: str, line: int) -> Iterator[list[int]]:
    """Return lines whose tests are to notice what stands on one, the best first.

    Those of its statement; where that runs at the import alone, the body of what it defines, the lines that say its name, its class, all.
    """
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    around = [node for node in statements if _first(node) <= line <= (node.end_lineno or 0)]
    inner = max(around, key=lambda node: (_first(node), -(node.end_lineno or 0)))
    body = getattr(inner, "body", None)
    yield [*range(_first(inner), body[0].lineno if body else (inner.end_lineno or 0) + 1)]
    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield [n for node in ast.walk(inner) if isinstance(node, ast.stmt) and node is not inner for n in _span(node)]
        said = inner.name
    else:
        targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
        said = next(
            (node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)), ""
        )
    if said:
        yield [n for n, text in enumerate(source.splitlines(), 1) if re.search(rf"\b{said}\b", text)]
    classes = [node for node in around if isinstance(node, ast.ClassDef)]
    yield [n for node in classes[-1:] for n in _span(node)]
    yield [*range(1, source.count("\n") + 1)]


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _span(node: ast.stmt) -> range:
    return range(_first(node), (node.end_lineno or 0) + 1)


def try_drawn(number: int, *, seed: int, folder: Path, until: float, record: bool) -> None:
    """Try so many mutants in the order of the draw; name those that survived, then tell the share."""
    copy = Copy(folder / "copy")
    copy.renew()
    reach = Reach(copy, folder / "reach")
    if record:
        for piece in (piece for kind in FILES for piece in sorted(ROOT.glob(kind))):
            for part in sorted({path.parent for path in piece.rglob("test_*.py")}):
                if time.monotonic() < until:
                    reach.record([str(path.relative_to(ROOT)) for path in sorted(part.glob("test_*.py"))])
    modules = sorted(
        str(path.relative_to(copy.folder)) for kind in SOURCES for path in copy.folder.glob(f"{kind}/**/*.py")
    )
    outcomes, server = Outcomes(folder / "outcomes.jsonl"), Server(copy, folder / "log")
    tried, alive, unreached = 0, 0, 0
    for mutant in islice(drawn(copy.folder, modules, seed=seed), number):
        if time.monotonic() >= until:
            break
        tests = tests_for(mutant, (copy.folder / mutant.module).read_text(encoding="utf-8"), reach)
        outcome = outcomes.find(mutant)
        if outcome is None or (not outcome.failed and {test.name for test in tests} - {*outcome.tests}):
            with in_place(copy, mutant):
                outcomes.add(
                    mutant, [test.name for test in tests], server.first_failure(tests, mutant.module) if tests else ""
                )
            outcome = outcomes.find(mutant)
        assert outcome is not None
        tried += 1
        if not outcome.failed:
            alive += 1
            unreached += not tests
            print(
                f"{'survived' if tests else 'not reached'}: {mutant.module}:{mutant.line}\n{mutant.change}", flush=True
            )
    server.close()
    share = (tried - alive) / max(1, tried)
    print("| seed | mutants | killed | survived | of these not reached | share killed |\n|---|---|---|---|---|---|")
    print(f"| {seed} | {tried} | {tried - alive} | {alive} | {unreached} | {share:.0%} |")
