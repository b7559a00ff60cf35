"""Which tests reach a line: recorded once per file of tests, in a copy of the working tree that lies outside the repository.

A record holds until its file of tests changes. Lines are kept by their text, and which of equal ones it is, so that they are found again
where others were put in above them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage
from tests.mutants.texts import named_lines

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "libs/*/src", "plugins/*/src")
"""Where modules lie that are mutated."""
KEPT = 12
"""Tests of one file that are kept for a line, the quickest."""
LIGHT = 20
"""Seconds in which a test has to end; what takes longer tells too little for its time."""
CONFIG = """
[run]
data_file = {folder}/data
parallel = true
core = ctrace
patch = _exit
context = ${{PYTEST_CURRENT_TEST-}}
include =
    {copy}/src/*
    {copy}/libs/*/src/*
    {copy}/plugins/*/src/*
"""


@dataclass(frozen=True)
class Test:
    """A test that passed."""

    name: str
    """What pytest calls it."""
    seconds: float


class Copy:
    """A copy of the working tree with an environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ".venv/bin/python"

    def renew(self) -> None:
        """Make it as the working tree is."""
        told = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout  # fmt: skip
        files = {name for name in told.split("\0") if name and (ROOT / name).is_file()} | {"uv.lock"}
        for name in files:
            here, there = ROOT / name, self.folder / name
            if here.exists() and not (there.exists() and there.read_bytes() == here.read_bytes()):
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)
        for kind in SOURCES:
            for there in self.folder.glob(f"{kind}/**/*.py"):
                if str(there.relative_to(self.folder)) not in files:
                    there.unlink()
        if not self.python.exists():
            environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
            subprocess.run(["uv", "sync", "--quiet"], cwd=self.folder, env=environ, check=True)


class Reach:
    """What files of tests reach, a record each."""

    def __init__(self, copy: Copy, folder: Path) -> None:
        self._copy = copy
        self._folder = folder
        self._records: dict[str, dict[str, object]] = {}

    def record(self, paths: Sequence[str]) -> None:
        """Run the files of tests that have no record, or another text now."""
        wanted = [path for path in paths if not self.has(path)]
        if not wanted:
            return
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        config = work / "coveragerc"
        config.write_text(CONFIG.format(folder=work, copy=self._copy.folder))
        environ = {**os.environ, "COVERAGE_PROCESS_START": str(config), "RECORDED": str(work / "seconds.json")}
        command = ["-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest", "-p", "tests.mutants.recorder"]
        with (work / "log").open("w") as log:
            subprocess.run(
                [self._copy.python, *command, "-q", "-n", "0", f"--timeout={LIGHT}", "-p", "no:cacheprovider", *wanted],
                cwd=self._copy.folder, env=environ, stdout=log, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        if not (work / "seconds.json").exists():
            print(f"not recorded:\n{(work / 'log').read_text()[-1000:]}", flush=True)
            return
        measured = coverage.Coverage(config_file=str(config))
        measured.combine()
        told: dict[str, float | None] = json.loads((work / "seconds.json").read_text())
        ran = {test.partition("::")[0] for test in told}  # fewer than were asked for, where the session was ended
        passed = {test: seconds for test, seconds in told.items() if seconds is not None}
        self._keep([path for path in wanted if path in ran], passed, measured.get_data())

    def _keep(self, ran: Sequence[str], seconds: dict[str, float], data: coverage.CoverageData) -> None:
        by_file: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(lambda: defaultdict(dict))
        for measured in data.measured_files():
            module = str(Path(measured).relative_to(self._copy.folder))
            names = named_lines(Path(measured).read_text())
            for line, contexts in data.contexts_by_lineno(measured).items():
                if line > len(names):  # of an empty file its only line is measured, which the text does not have
                    continue
                found = defaultdict[str, set[str]](set)
                for context in contexts:
                    test = context.partition("|")[0].rpartition(" (")[0] or context.partition("|")[0]
                    test = context if context in seconds else test
                    if test in seconds:
                        found[test.partition("::")[0]].add(test)
                for path, tests in found.items():
                    by_file[path][module][names[line - 1]] = sorted(tests, key=seconds.__getitem__)[:KEPT]
        for path in ran:
            mine = {test: s for test, s in seconds.items() if test.partition("::")[0] == path}
            record = {"text": _digest(self._copy.folder / path), "seconds": mine, "lines": by_file[path]}
            self._file(path).write_text(json.dumps(record))

    def tests(self, module: str, lines: Iterable[str]) -> list[Test]:
        """Return the tests that reach one of a module's lines, by their names (`named_lines`)."""
        if not self._records:
            files = sorted(self._folder.glob("*.json"))
            self._records = {file.name: json.loads(file.read_text()) for file in files}
        found: dict[str, float] = {}
        for record in self._records.values():
            reached = record["lines"].get(module, {})  # type: ignore[attr-defined]
            for line in lines:
                for test in reached.get(line, ()):
                    found[test] = record["seconds"][test]  # type: ignore[index]
        return [Test(name, seconds) for name, seconds in sorted(found.items(), key=lambda item: item[1])]

    def has(self, path: str) -> bool:
        """Return whether there is a record of a file of tests as it is now."""
        file = self._file(path)
        return file.exists() and json.loads(file.read_text())["text"] == _digest(self._copy.folder / path)

    def _file(self, path: str) -> Path:
        return self._folder / (path.replace("/", "+") + ".json")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
