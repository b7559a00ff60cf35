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
from collections.abc import Iterator, Sequence
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

    def add(self, mutant: Mutant, tests: list[str], failed: str) -> Outcome:
        """Keep an outcome."""
        outcome = Outcome(_key(mutant), tests, failed)
        self._known[outcome.key] = outcome
        with self._path.open("a") as sink:
            sink.write(json.dumps(asdict(outcome)) + "\n")
        return outcome


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


class Bench:
    """Tries mutants in the copy and keeps what became of them."""

    def __init__(self, folder: Path) -> None:
        self.copy = Copy(folder / "copy")
        self.copy.renew()
        self.reach = Reach(self.copy, folder / "reach")
        self._outcomes = Outcomes(folder / "outcomes.jsonl")
        self._server = Server(self.copy, folder / "log")

    def try_one(self, mutant: Mutant) -> Outcome:
        """Return what becomes of a mutant; what was seen before counts until it is to be tried on other tests."""
        tests = tests_for(mutant, (self.copy.folder / mutant.module).read_text(encoding="utf-8"), self.reach)
        known = self._outcomes.find(mutant)
        if known is not None and (known.failed or {test.name for test in tests} <= {*known.tests}):
            return known
        failed = ""
        if tests:
            with in_place(self.copy, mutant):
                failed = self._server.first_failure(tests, mutant.module)
            if failed and not self._passes(failed, tests, mutant):
                failed = ""
        return self._outcomes.add(mutant, [test.name for test in tests], failed)

    def _passes(self, failed: str, tests: list[Test], mutant: Mutant) -> bool:
        """Say whether a test passes without the mutant; one that has a record did."""
        if failed in {test.name for test in tests} or "::" not in failed:
            return True
        return not self._server.first_failure([Test(failed, UNKNOWN)], mutant.module)

    def close(self) -> None:
        """End the process that runs tests."""
        self._server.close()


def try_drawn(
    number: int, *, seed: int, folder: Path, until: float, record: bool, files: Sequence[str] = FILES
) -> None:
    """Try so many mutants in the order of the draw; name those that survived, then tell the share."""
    bench = Bench(folder)
    homes = [home for kind in files for home in sorted(ROOT.glob(kind))]
    for part in sorted({path.parent for home in homes for path in home.rglob("test_*.py")}) if record else ():
        if time.monotonic() < until:
            print(f"recording {part.relative_to(ROOT)}", flush=True)
            bench.reach.record([str(path.relative_to(ROOT)) for path in sorted(part.glob("test_*.py"))])
    place = bench.copy.folder
    modules = sorted(str(path.relative_to(place)) for kind in SOURCES for path in place.glob(f"{kind}/**/*.py"))
    found = list[Outcome]()
    for mutant in islice(drawn(place, modules, seed=seed), number):
        if time.monotonic() >= until:
            break
        found.append(bench.try_one(mutant))
        if not found[-1].failed:
            what = "survived" if found[-1].tests else "not reached"
            print(f"{what}: {mutant.module}:{mutant.line}\n{mutant.change}", flush=True)
    bench.close()
    killed, unreached = sum(bool(o.failed) for o in found), sum(not o.tests for o in found)
    print("| seed | mutants | killed | survived | of these not reached | share killed |\n|---|---|---|---|---|---|")
    share = killed / max(1, len(found))
    print(f"| {seed} | {len(found)} | {killed} | {len(found) - killed} | {unreached} | {share:.0%} |")
