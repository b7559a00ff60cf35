"""Which tests run what a mutant changes: recorded by marks in a copy of the working tree that lies outside the repository.

All files of tests are run once for a draw, a few at a time; what was recorded of a file holds until the file changes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.marks import REACHED, by_module, degrees, mark_all
from tests.mutants.texts import Mutant

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "libs/*/src", "plugins/*/src")
"""Where modules lie that are mutated."""
LIGHT = 40
"""Seconds in which a test has to end; what takes longer tells too little for its time."""


@dataclass(frozen=True)
class Test:
    """A test that passed."""

    name: str
    """What pytest calls it."""
    seconds: float

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.name.partition("::")[0]


class Copy:
    """A copy of the working tree with an environment of its own, for one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / ".venv/bin/python"
        path = f"{self.python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.environ = {**os.environ, "VIRTUAL_ENV": str(folder / ".venv"), "PATH": path}

    def renew(self) -> None:
        """Make it as the working tree is; end the process where another one uses it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._held = (self.folder.parent / f"{self.folder.name}.lock").open("w")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"Another process uses {self.folder}; give another `--folder`.") from None
        told = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout  # fmt: skip
        files = {name for name in told.split("\0") if name and (ROOT / name).is_file()} | {"uv.lock"}
        for name in files:
            here, there = ROOT / name, self.folder / name
            if here.exists() and not (there.exists() and there.read_bytes() == here.read_bytes()):
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, there)
        for kind in (*SOURCES, "tests", "plugins/*/tests"):
            for there in self.folder.glob(f"{kind}/**/*.py"):
                if str(there.relative_to(self.folder)) not in files:
                    there.unlink()
        if not self.python.exists():
            environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
            subprocess.run(["uv", "sync", "--quiet"], cwd=self.folder, env=environ, check=True)


class Reach:
    """What files of tests reach, a record each.

    `{"text": "…", "asked": [place…], "seconds": {test: …}, "reached": {place: {degree: [test…]}}}`
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def missing(self, paths: Sequence[str], places: Sequence[str]) -> list[str]:
        """Return the files of tests that have no record of these places, or another text now."""
        return [path for path in paths if not self.has(path, places)]

    def record(self, paths: Sequence[str], recorder: Recorder) -> None:
        """Run files of tests and keep what they reach."""
        ran = recorder.run(paths)
        for path in paths:
            seconds = {test: s for test, s in ran.seconds.items() if test.partition("::")[0] == path}
            reached: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
            for (place, degree), tests in ran.reached.items():
                if mine := sorted(tests & seconds.keys(), key=seconds.__getitem__):
                    reached[place][degree] = mine
            record = {"text": _digest(path), "asked": recorder.places, "seconds": seconds, "reached": reached}
            self._file(path).write_text(json.dumps(record))

    def tests(self, place: str) -> list[Test]:
        """Return the tests that run a place, the quickest first: of its first degree that any test runs."""
        found: dict[int, list[Test]] = defaultdict(list)
        for record in self._records():
            for degree, tests in record["reached"].get(place, {}).items():
                found[int(degree)] += [Test(name, record["seconds"][name]) for name in tests]
        return sorted(found[min(found)], key=lambda test: test.seconds) if found else []

    def has(self, path: str, places: Sequence[str] = ()) -> bool:
        """Return whether there is a record of places for a file of tests as it is now."""
        file = self._file(path)
        if not file.exists():
            return False
        record = json.loads(file.read_text())
        return bool(record["text"] == _digest(path) and {*places} <= {*record["asked"]})

    def passed(self, path: str) -> set[str]:
        """Return the tests of a file that passed when they were recorded; of others nobody knows what they reach."""
        file = self._file(path)
        return {*json.loads(file.read_text())["seconds"]} if file.exists() else set()

    def _records(self) -> list[dict[str, dict[str, dict[str, list[str]]]]]:
        return [json.loads(file.read_text()) for file in sorted(self._folder.glob("*.json"))]

    def _file(self, path: str) -> Path:
        return self._folder / (path.replace("/", "+") + ".json")


@dataclass(frozen=True)
class Ran:
    """What one session of tests told."""

    seconds: dict[str, float]
    """Of each test that passed."""
    reached: dict[tuple[str, int], set[str]]
    """By place and degree."""


class Recorder:
    """Runs tests in a copy whose modules have marks where mutants will be."""

    def __init__(self, folder: Path, mutants: Sequence[Mutant], sources: Mapping[str, str]) -> None:
        self._copy = Copy(folder)
        self._copy.renew()
        named = {mutant.place(sources[mutant.module]): mutant for mutant in mutants}
        self.places = [*named]
        marks, self._told = by_module(degrees(mutant.module, mutant.line, sources) for mutant in named.values())
        mark_all(folder, marks)
        self._work = folder.parent / "work"
        self._work.mkdir(exist_ok=True)
        (site,) = (folder / ".venv/lib").glob("python*/site-packages")
        (site / "_reached.py").write_text(REACHED.format(folder=str(self._work)))

    def run(self, paths: Sequence[str]) -> Ran:
        """Run files of tests."""
        for name in ("reached", "recorded.json"):
            (self._work / name).unlink(missing_ok=True)
        (self._work / "now").write_bytes(bytes(4))
        command = ["-m", "pytest", "-q", "-n", "0", "-p", "tests.mutants.recorder", f"--timeout={LIGHT}"]
        with (self._work / "log").open("w") as log:
            subprocess.run(
                [self._copy.python, *command, "-p", "no:cacheprovider", *paths],
                cwd=self._copy.folder, env={**self._copy.environ, "RECORDED": str(self._work)},
                stdout=log, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        if not (self._work / "recorded.json").exists():
            print(f"not recorded:\n{(self._work / 'log').read_text()[-1000:]}", flush=True)
            return Ran({}, {})
        told = json.loads((self._work / "recorded.json").read_text())
        users: dict[int, list[str]] = defaultdict(list)
        for test, numbers in told["numbers"].items():
            for number in numbers:
                users[number].append(test)
        reached: dict[tuple[str, int], set[str]] = defaultdict(set)
        lines = (self._work / "reached").read_text().splitlines() if (self._work / "reached").exists() else []
        for mark, number in (map(int, line.split()) for line in lines):
            turn, degree = self._told[mark]
            reached[self.places[turn], degree] |= {*users[number]}
        return Ran(told["seconds"], reached)


def _digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]
