"""Mutants of eight modules of engine and trainers, or of changed lines, each tried on the unit tests of its module.

A mutant is a process of its own, forked where only that is imported which comes before the module: it imports the mutated text in place of
the file and runs the tests. A mutant that fails a test, cannot be imported or does not end is killed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from tests.mutants.reach import ROOT, SOURCES
from tests.mutants.server import QUIETLY
from tests.mutants.texts import Mutant, mutants_of

ENGINE, RUNS = "libs/tracebench_engine/src/tracebench_engine", "libs/tracebench_runs/src/tracebench_runs"
OPTO = "plugins/tracebench_opto/src/tracebench_opto"
UNIT, PARTS = "tests/unit", "plugins/tracebench_opto/tests/parts"
MODULES = {
    "budget": (f"{ENGINE}/job/budget.py", [f"{UNIT}/engine/test_budget.py"]),
    "costs": (f"{ENGINE}/matrix/costs.py", [f"{UNIT}/engine/test_costs.py"]),
    "ranking": (f"{RUNS}/events/ranking.py", [f"{UNIT}/engine/test_archive.py"]),
    "recombine": (f"{ENGINE}/builtin/recombine.py", [f"{UNIT}/builtin/test_recombine.py"]),
    "archive": (f"{OPTO}/parts/archive.py", [f"{PARTS}/test_archive.py", f"{PARTS}/test_selection.py"]),
    "racing": (f"{OPTO}/parts/racing.py", [f"{PARTS}/test_racing.py"]),
    "search": (f"{OPTO}/parts/search.py", [f"{PARTS}/test_search_steps.py", f"{PARTS}/test_search.py"]),
    "objectives": (f"{OPTO}/parts/objectives.py", [f"{PARTS}/test_objectives.py", f"{PARTS}/test_frontier.py"]),
}
"""By name: the module, and the tests that are to notice."""
MOST = 100
"""Mutants of one module that are tried."""
PATIENCE = 10.0
"""A mutant may take so many times as long as the module itself, and this many seconds more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said of one mutant."""

    module: str
    key: str
    line: int
    change: str
    killed: bool


def changed_since(ref: str) -> dict[str, set[int]]:
    """Return the lines that the working tree has otherwise than where it left a commit, by module; added files whole."""
    below = [f":(glob){kind}/**" for kind in SOURCES]  # else git takes a `*` for the name of a file, and finds none
    diff = subprocess.run(
        ["git", "diff", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff", "--merge-base", ref, "--", *below],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines: dict[str, set[int]] = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ").removeprefix("b/")
        elif path.endswith(".py") and (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return {path: changed for path, changed in lines.items() if changed}


def name_of(path: str) -> str:
    """Return the name of the module that lies at a path."""
    return path.partition("src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def tests_of(path: str) -> list[str]:
    """Return the unit tests that name a module: those of its plugin, or of the libraries; the fewest that do."""
    module = name_of(path)
    package, _, name = module.rpartition(".")
    home = ROOT / "/".join(Path(path).parts[:2]) / "tests" if path.startswith("plugins/") else ROOT / UNIT
    named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    return [
        str(t.relative_to(ROOT)) for t in sorted(home.rglob("test_*.py")) if named.search(t.read_text(encoding="utf-8"))
    ]


def is_noticed(name: str, text: str, *, log: Path, patience: float) -> bool:
    """Run the tests of a module with another text in its place; return whether they fail or do not end."""
    path, tests = MODULES[name]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _become(ROOT / path, text, log)
            code = pytest.main([*QUIETLY, *(str(ROOT / test) for test in tests)])
        finally:
            os._exit(int(code))
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def _become(path: Path, text: str, log: Path) -> None:
    """Make this process one in which a module has another text; name beside the log what was imported before that module was."""
    os.setpgid(0, 0)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    loader = importlib.machinery.SourceFileLoader
    ordinary = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> object:
        if Path(self.path) != path:
            return ordinary(self, fullname)
        specs = {name: getattr(module, "__spec__", None) for name, module in sys.modules.items()}
        begun = tuple(f"{name}." for name, spec in specs.items() if getattr(spec, "_initializing", False))
        before = [name for name, spec in specs.items() if spec is not None and not f"{name}.".startswith(begun)]
        log.with_suffix(".before").write_text(
            json.dumps([n for n in before if not n.startswith(("tests", "conftest", "plugins"))])
        )
        return compile(text, self.path, "exec")

    loader.get_code = get_code  # type: ignore[assignment, method-assign]


class Verdicts:
    """The verdicts of this run and of earlier ones, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = {verdict.key: verdict for verdict in (Verdict(**json.loads(line)) for line in lines)}

    def find(self, mutant: Mutant) -> Verdict | None:
        """Return the verdict on this text under the tests as they are now."""
        return self._known.get(_key(mutant))

    def add(self, mutant: Mutant, *, killed: bool) -> None:
        """Keep a verdict."""
        verdict = Verdict(mutant.module, _key(mutant), mutant.line, mutant.change, killed)
        with self._path.open("a") as sink:
            sink.write(json.dumps(asdict(verdict)) + "\n")


def _key(mutant: Mutant) -> str:
    tests = [(ROOT / test).read_text() for test in MODULES[mutant.module][1]]
    return hashlib.sha256("\0".join([mutant.module, mutant.text, *tests]).encode()).hexdigest()[:24]


def attempt(name: str, mutants: list[Mutant], verdicts: Verdicts, *, log: Path, until: float) -> None:
    """Try mutants of one module, in a process of its own that has imported what they share."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"The tests of `{name}` fail without a mutation:\n{log.read_text()[-2000:]}")
        return
    text = (ROOT / MODULES[name][0]).read_text()
    if is_noticed(name, text, log=log, patience=300.0):
        os._exit(1)
    for module in json.loads(log.with_suffix(".before").read_text()):
        with suppress(Exception):
            importlib.import_module(module)
    if name_of(MODULES[name][0]) in sys.modules:  # else every mutant would pass, being the module as it is
        log.write_text(f"What is imported before `{name}` imports it.")
        os._exit(1)
    began = time.monotonic()
    is_noticed(name, text, log=log, patience=300.0)
    patience = PATIENCE * (1 + time.monotonic() - began)
    for mutant in mutants:
        if time.monotonic() >= until:
            break
        verdicts.add(mutant, killed=is_noticed(name, mutant.text, log=log, patience=patience))
    os._exit(0)


def try_named(only: list[str] | None, *, results: Path, until: float, ref: str | None) -> None:
    """Try the mutants of the modules, or of the lines that are otherwise than at `ref`; print each that survives, then a table."""
    lines: dict[str, set[int]] = {}
    untested: list[str] = []
    if ref:
        lines = changed_since(ref)
        MODULES.clear()
        MODULES.update({path: (path, tests_of(path)) for path in lines})
        untested = [path for path in lines if not MODULES[path][1] and _mutants(path, lines[path])]
        for path in [path for path in lines if not MODULES[path][1]]:
            del MODULES[path]
    log = Path(tempfile.gettempdir(), f"mutants-{os.getpid()}.log")
    rows: list[tuple[str, int, int, int]] = []
    for name in only or MODULES:
        mutants, verdicts = _mutants(name, lines.get(name)), Verdicts(results)
        untried = [mutant for mutant in mutants if verdicts.find(mutant) is None]
        if untried and time.monotonic() < until:
            attempt(name, untried, verdicts, log=log, until=until)
        verdicts = Verdicts(results)
        found = [verdict for mutant in mutants if (verdict := verdicts.find(mutant)) is not None]
        alive = [verdict for verdict in found if not verdict.killed]
        for verdict in alive:
            print(f"survived: {MODULES[name][0]}:{verdict.line}\n{verdict.change}", flush=True)
        rows.append((name, len(found), len(found) - len(alive), len(mutants) - len(found)))
    log.unlink(missing_ok=True)
    log.with_suffix(".before").unlink(missing_ok=True)
    rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2, 3))))  # type: ignore[arg-type]
    print("| module | mutants | killed | survived | share killed |\n|---|---|---|---|---|")
    for name, tried, killed, missing in rows:
        later = f" ({missing} not tried yet)" if missing else ""
        print(f"| {name} | {tried} | {killed} | {tried - killed} | {killed / max(1, tried):.0%}{later} |")
    for path in untested:
        print(f"no unit test names {path}")
    if ref and (untested or rows[-1][1] > rows[-1][2]):
        sys.exit(1)


def _mutants(name: str, lines: set[int] | None) -> list[Mutant]:
    return mutants_of(name, (ROOT / MODULES[name][0]).read_text(encoding="utf-8"), most=MOST, lines=lines)
