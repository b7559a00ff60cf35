"""Mutants drawn by chance over all lines of all modules, each tried on tests that run what it changes.

`just mutants --draw 400 --seed 1` goes on where it stopped: what tests reach and what became of each mutant are kept in a folder
outside the repository. The mutant takes the module's place in a copy of the working tree, with an environment of its own, so that
processes which tests start have it, too. It is tried on unit tests first; what these leave alive, on tests of whole processes.
A mutant that no test reaches has survived.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice, zip_longest
from pathlib import Path

from tests.mutants.marks import runs_at_import
from tests.mutants.named import name_of, tests_of
from tests.mutants.reach import ROOT, SOURCES, Copy, Reach, Recorder, Test
from tests.mutants.texts import Mutant, drawn
from tests.mutants.words import Closeness

UNITS = ("tests/unit", "plugins/*/tests")
WHOLE = (
    "tests/engine",
    "tests/cli",
    "tests/llm",
    "tests/sandbox",
    "tests/crash",
    "tests/docs",
    "tests/attack",
    "tests/simulation",
    "tests/architecture",
)
"""Where unit tests and tests of whole processes are."""
KEPT = "tests/architecture/test_kept.py"
"""Tests of what is kept as text: they reach so much that every mutant is tried on them, unless a record says that they do not reach it."""
KEPT_TESTS = tuple(f"{KEPT}::test_what_is_kept_stays[{name}]" for name in ("declared", "tasks", "courses", "reading"))
"""The tests in it, any of which may take too long for a record."""
DECLARED = (KEPT, "tests/architecture/test_public_face.py::test_no_public_name_goes_or_changes_unnoticed")
"""Tests of what modules declare: no mark sees what they compare, so they are tried on each mutant of a line outside of functions.
So are the files of unit tests that name its module: a test may read a table that no function reads."""
MOST, SECONDS = 40, 5.0
"""Unit tests that a mutant is tried on first: of files that name its module, then the quickest, while they take no longer together."""
LONG = 60.0
"""Seconds of processors that all other tests have after these."""
CLOSEST = 20
"""Tests of files without a record that are among the others: those whose words are closest to what is changed."""
UNKNOWN, PATIENCE = 1.0, 15.0
"""Seconds that a file of tests without a record is taken to need, and how many times its tests' own a mutant has at first."""
AT_ONCE = 8
"""Files of tests that are recorded in one session: what is lost where it is ended."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    key: str
    tests: list[str]
    """On which it was tried, each with what tells its file's text from others."""
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
            cwd=copy.folder, env=copy.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def first_failure(self, tests: Sequence[str], module: str, *, seconds: float) -> str:
        """Return the first of these tests that fails where a module is as it is in the copy now, "" if all pass in these seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"tests": [*tests], "module": name_of(module), "seconds": seconds}
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


def first_tests(mutant: Mutant, found: Sequence[Test], reach: Reach) -> list[Test]:
    """Return the unit tests that a mutant is tried on first; a file that has no record is one where it names the module."""
    near = tests_of(mutant.module)
    units = [test for test in found if not _is_whole(test.file)]
    units.sort(key=lambda test: (test.file not in near, test.seconds))
    chosen, total = list[Test](), 0.0
    for test in units[:MOST]:
        total += test.seconds
        if chosen and total > SECONDS:
            break
        chosen.append(test)
    return chosen + [Test(file, UNKNOWN) for file in near if not reach.has(file)]


def in_turn(tests: Sequence[Test]) -> Iterator[Test]:
    """Go through files by turns, the quickest test of each first; a file with more tests that reach the mutant comes before others."""
    files: dict[str, list[Test]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: test.seconds):
        files[test.file].append(test)
    order = sorted(files.values(), key=lambda of_file: (-len(of_file), of_file[0].seconds))
    for turn in range(max(map(len, order), default=0)):
        yield from (of_file[turn] for of_file in order if turn < len(of_file))


def _is_whole(file: str) -> bool:
    return file.startswith(tuple(f"{folder}/" for folder in WHOLE))


class Bench:
    """Tries mutants in the copy and keeps what became of them."""

    def __init__(self, folder: Path, reach: Reach) -> None:
        self.copy = Copy(folder / "copy")
        self.copy.renew()
        self._reach = reach
        self._outcomes = Outcomes(folder / "outcomes.jsonl")
        self._server = Server(self.copy, folder / "log")
        self._unknown = [test for test in KEPT_TESTS if test not in reach.passed(KEPT)]
        self._close = Closeness(ROOT, [file for file in files_of(UNITS + WHOLE) if not reach.has(file)])

    def try_one(self, mutant: Mutant) -> Outcome:
        """Return what becomes of a mutant; what was seen before counts until there are other tests to try it on."""
        source = (ROOT / mutant.module).read_text(encoding="utf-8")
        found = self._reach.tests(mutant.place(source))
        first = first_tests(mutant, found, self._reach)
        later = [*in_turn([test for test in found if test not in first])]
        close = self._close.tests(mutant.module, source, mutant.line)
        files = {test.name for test in first}
        static = (*DECLARED, *tests_of(mutant.module)) if runs_at_import(source, mutant.line) else self._unknown
        later = [*(Test(test, UNKNOWN) for test in static), *later]
        later += [Test(test, UNKNOWN) for test in close if test.partition("::")[0] not in files][:CLOSEST]
        known = self._outcomes.find(mutant)
        tried = [] if known is None else known.tests
        if known is not None and (known.failed or {_told(test.name) for test in [*first, *later]} <= {*tried}):
            return known
        failed = ""
        for tests, seconds in ((first, PATIENCE * (1 + sum(test.seconds for test in first))), (later, LONG)):
            wanted = [test.name for test in tests if _told(test.name) not in tried]
            failed = failed or self._noticed(wanted, mutant, seconds=seconds)
        return self._outcomes.add(mutant, [*tried, *(_told(test.name) for test in [*first, *later])], failed)

    def _noticed(self, tests: Sequence[str], mutant: Mutant, *, seconds: float) -> str:
        """Return the first test that fails with the mutant, twice, and passes without it."""
        failed = ""
        while tests:
            failed = self._first_failure(tests, mutant, seconds=seconds)
            if "::" not in failed:  # nothing failed, or nothing could be imported or ended
                break
            alone = self._server.first_failure([failed], mutant.module, seconds=LONG)
            if not alone and self._first_failure([failed], mutant, seconds=LONG):
                break
            told = {failed, failed.partition("[")[0], failed.partition("::")[0]}  # one of its cases, a test, a file
            at = next(n for n, test in enumerate(tests) if test in told)
            tests, failed = tests[at + 1 :], ""
        return failed

    def _first_failure(self, tests: Sequence[str], mutant: Mutant, *, seconds: float) -> str:
        with in_place(self.copy, mutant):
            return self._server.first_failure(tests, mutant.module, seconds=seconds)

    def close(self) -> None:
        """End the process that runs tests."""
        self._server.close()


def _told(test: str) -> str:
    text = (ROOT / test.partition("::")[0]).read_bytes()
    return f"{test} {hashlib.sha256(text).hexdigest()[:8]}"


def record_all(folder: Path, reach: Reach, mutants: Sequence[Mutant], files: Sequence[str], *, until: float) -> None:
    """Record what files of tests reach of the places of some mutants, a few at a time."""
    sources = {module: (ROOT / module).read_text(encoding="utf-8") for module in modules()}
    places = [mutant.place(sources[mutant.module]) for mutant in mutants]
    missing = nearest_first(reach.missing(files, places), mutants, sources)
    recorder = Recorder(folder / "marked", mutants, sources) if missing else None
    for first in range(0, len(missing), AT_ONCE):
        if recorder is None or time.monotonic() >= until:
            break
        print(f"recording {first} of {len(missing)}: {missing[first]}", flush=True)
        reach.record(missing[first : first + AT_ONCE], recorder)


def nearest_first(files: Sequence[str], mutants: Sequence[Mutant], sources: Mapping[str, str]) -> list[str]:
    """Return files of tests, those first that are likely to reach a mutant: they name its module, or their words are closest."""
    close = Closeness(ROOT, files)
    wanted = [
        dict.fromkeys(
            [*tests_of(m.module), *(t.partition("::")[0] for t in close.tests(m.module, sources[m.module], m.line))]
        )
        for m in mutants
    ]
    turns = (file for turn in zip_longest(*wanted) for file in turn if file is not None)
    return sorted({*files}, key={file: n for n, file in enumerate(dict.fromkeys([*turns, *files]))}.__getitem__)


def files_of(kinds: Sequence[str]) -> list[str]:
    """Return the files of tests in some folders."""
    homes = [home for kind in kinds for home in sorted(ROOT.glob(kind))]
    return [str(path.relative_to(ROOT)) for home in homes for path in sorted(home.rglob("test_*.py"))]


def modules() -> list[str]:
    """Return the modules that are mutated."""
    return sorted(str(path.relative_to(ROOT)) for kind in SOURCES for path in ROOT.glob(f"{kind}/**/*.py"))


def draw(number: int, *, seed: int, folder: Path) -> list[Mutant]:
    """Return so many mutants of a seed; they are kept until a module changes, for it takes seconds to draw some."""
    texts = hashlib.sha256(b"".join((ROOT / module).read_bytes() for module in modules())).hexdigest()[:12]
    kept = folder / f"draw-{seed}-{number}-{texts}.json"
    if not kept.exists():
        found = islice(drawn(ROOT, modules(), seed=seed), number)
        kept.write_text(json.dumps([asdict(mutant) for mutant in found]))
    return [Mutant(**mutant) for mutant in json.loads(kept.read_text())]


def try_drawn(
    number: int, *, seeds: Sequence[int], folder: Path, until: float, record: bool, files: Sequence[str]
) -> None:
    """Try so many mutants of each seed in the order of the draw; name those that survived, then tell the shares."""
    reach = Reach(folder / "reach")
    draws = {seed: draw(number, seed=seed, folder=folder) for seed in seeds}
    if record:
        every = [mutant for mutants in draws.values() for mutant in mutants]
        record_all(folder, reach, every, files_of(files), until=until)
    if time.monotonic() >= until:
        return
    bench = Bench(folder, reach)
    rows = [(seed, _try(bench, mutants, until=until)) for seed, mutants in draws.items()]
    bench.close()
    print("| seed | mutants | killed | survived | of these not reached | share killed |\n|---|---|---|---|---|---|")
    for seed, found in rows:
        killed, unreached = sum(bool(o.failed) for o in found), sum(not o.tests for o in found)
        share = killed / max(1, len(found))
        print(f"| {seed} | {len(found)} | {killed} | {len(found) - killed} | {unreached} | {share:.0%} |")


def _try(bench: Bench, mutants: Sequence[Mutant], *, until: float) -> list[Outcome]:
    found = list[Outcome]()
    for mutant in mutants:
        if time.monotonic() >= until:
            break
        found.append(bench.try_one(mutant))
        if not found[-1].failed:
            what = "survived" if found[-1].tests else "not reached"
            print(f"{what}: {mutant.module}:{mutant.line}\n{mutant.change}", flush=True)
    return found
