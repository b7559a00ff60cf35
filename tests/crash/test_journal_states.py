"""The journal as a machine of states: run, kill, end, lose, cut, garble, put back, forge, repair, accept, resume, verify, in any order.

The store is the real one, on real files; the run is the miniature of `test_store_crash_points`. Each of its jobs has one result that was
ever measured, so that one that nothing vouches for is known by sight. `TRACEBENCH_STATES=N` goes through N sequences, not a few.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.crash.disk import Crash, CrashingFileSystem
from tests.crash.test_store_crash_points import JOBS, MODES, Engine

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_runs.check.fsck import accept_losses, check_run, repair_run
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.check.verifying import chain_of, verify_run
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import end_records, read_trust
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.storage.files import installed
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import seal_of

SEQUENCES = int(os.environ.get("TRACEBENCH_STATES", "12"))
FORGED = b"99.0"
SINCE_INDEX = 3
"""Lines at most that a closed journal has behind those that the index of files knows."""


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


class Store(RuleBasedStateMachine):
    """A run, what is known of it, and what may happen to it."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.root = Path(tempfile.mkdtemp(prefix="states-", dir=memory if os.access(memory, os.W_OK) else None))
        self.users = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = str(self.root / "state")
        self.layout = RunLayout(self.root / "runs" / "run")
        self.engine = Engine()
        self.boots = 0
        self.measured: dict[str, str] = {}
        """The digest of each job's one result."""
        self.forged: set[str] = set()
        """Jobs whose log or result was edited: one of the two, so that the other tells."""
        self.lacks: int | None = None
        """From which line on the journal is not what it was; None while nobody touched it since it was last accepted or resumed."""
        self.is_whole = True
        """No line of the journal was ever touched."""
        self.known_head: tuple[int, str] | None = None
        """A line that somebody noted when the run was closed, and its number."""
        self.copies: list[bytes] = []
        self.homes = 0
        """How often the run was moved to another machine."""
        self.is_away = False
        """Nobody closed it where it lies now."""
        self.has_index = True
        """Since it was closed, nobody touched the index of files."""

    @initialize()
    def begin(self) -> None:
        """A run that has been begun, as the engine begins one; what its jobs come to is known from one that was left in peace."""
        calm = RunLayout(self.root / "calm" / "run")
        self._make(calm)
        Engine().run(calm.path)
        self.measured = {job.job_id: content_hash(calm.job(job.job_id).results.read_bytes()) for job in JOBS}
        self._make(self.layout)

    def teardown(self) -> None:
        """However it was left: once a person has accepted what is lost, a resume yields what was measured, and nothing is to be mended."""
        try:
            if self.measured:
                self._watch(lambda: repair_run(self.layout.path))
                self._watch(lambda: accept_losses(self.layout.path))
                self._watch(self._go_on)
                for job in JOBS:
                    assert content_hash(self.layout.job(job.job_id).results.read_bytes()) == self.measured[job.job_id]
                left = [f for f in check_run(self.layout.path) if f.mended_by not in {"nothing", "accept"}]
                assert left == []
        finally:
            if self.users is None:
                del os.environ["XDG_STATE_HOME"]
            else:
                os.environ["XDG_STATE_HOME"] = self.users
            shutil.rmtree(self.root, ignore_errors=True)

    # what the run does

    @rule(at=st.integers(1, 60), mode=st.sampled_from(MODES))
    def is_killed(self, at: int, mode: str) -> None:
        """A runner begins or continues, and is killed or loses its power at one of its operations; it may end before."""
        self._watch(lambda: self._live(at, mode))

    @rule()
    def resume(self) -> None:
        """A runner goes on to the end."""
        self._watch(self._go_on)

    # what befalls it

    @rule(keep=st.floats(0.0, 1.0), torn=st.booleans())
    def cut(self, keep: float, torn: bool) -> None:
        """The journal loses its end, in a line or between two."""
        lines = self._lines()
        left = int(keep * len(lines))
        rest = lines[left][: len(lines[left]) // 2] if torn and left < len(lines) else b""
        self._write(b"".join(lines[:left]) + rest, since=left)

    @rule(how=st.sampled_from(["gone", "empty", "nonsense"]))
    def lose(self, how: str) -> None:
        """The journal is deleted, emptied, or something else."""
        self._write(bytes(range(200)) + b"\n" if how == "nonsense" else b"", since=0)
        if how == "gone":
            self._journal.unlink(missing_ok=True)

    @precondition(lambda self: self._journal.exists() and self._journal.stat().st_size > 0)
    @rule(place=st.floats(0.0, 1.0), byte=st.integers(1, 255))
    def garble(self, place: float, byte: int) -> None:
        """A byte of the journal changes."""
        content = bytearray(self._journal.read_bytes())
        at = min(int(place * len(content)), len(content) - 1)
        number = bytes(content[:at]).count(b"\n")
        line = self._lines()[number]
        content[at] ^= byte
        if content[at] != byte ^ ord("\n") and not _is_record(line):
            self._journal.write_bytes(content)  # of a line that a crash cut short nothing more can be lost
        else:
            self._write(bytes(content), since=number)

    @rule()
    def copy(self) -> None:
        """Somebody keeps a copy of the journal."""
        if self._journal.exists() and self.lacks is None:
            self.copies.append(self._journal.read_bytes())

    @precondition(lambda self: self.copies)
    @rule(which=st.integers(0, 9))
    def put_back(self, which: int) -> None:
        """An old copy takes the place of the journal."""
        old = self.copies[which % len(self.copies)]
        now = self._journal.read_bytes() if self._journal.exists() else b""
        if now.startswith(old):
            self._write(old, since=old.count(b"\n"))
        elif self.lacks is None:
            self._write(old, since=0)

    @precondition(lambda self: self.layout.files_index.exists())
    @rule(how=st.sampled_from(["gone", "empty", "nonsense"]))
    def lose_index(self, how: str) -> None:
        """The index of files is deleted, emptied, or something else."""
        self.has_index = False
        self.layout.files_index.write_bytes(bytes(range(200)) if how == "nonsense" else b"")
        if how == "gone":
            self.layout.files_index.unlink()

    @rule(which=st.integers(0, len(JOBS) - 1))
    def lose_result(self, which: int) -> None:
        """The result of a job is deleted."""
        self.layout.job(JOBS[which].job_id).results.unlink(missing_ok=True)

    @rule()
    def move(self) -> None:
        """The run goes to another machine, which has no key of it and never saw it."""
        self.homes += 1
        self.is_away = True
        os.environ["XDG_STATE_HOME"] = str(self.root / f"state{self.homes}")

    @rule(which=st.integers(0, len(JOBS) - 1), what=st.sampled_from(["events.jsonl", "results.json"]))
    def forge(self, which: int, what: str) -> None:
        """Somebody gives a job another score, in its log or in its result."""
        path = self.layout.job(JOBS[which].job_id).path / what
        if path.is_file() and JOBS[which].job_id not in self.forged:
            self.forged.add(JOBS[which].job_id)
            was = f'"score":{float(JOBS[which].seed)}'.encode(), f'"score_val_best": {float(JOBS[which].seed)}'.encode()
            now = b'"score":' + FORGED, b'"score_val_best": ' + FORGED
            path.write_bytes(path.read_bytes().replace(was[0], now[0]).replace(was[1], now[1]))

    # what a person does

    @rule()
    def repair(self) -> None:
        """`fsck --repair`."""
        self._watch(lambda: repair_run(self.layout.path))
        self._expect_told()

    @rule()
    def accept(self) -> None:
        """`fsck --accept`; a journal that went before any job had begun is no loss yet, and stays away."""
        self._watch(lambda: accept_losses(self.layout.path))
        if read_trust(self.layout).meta:
            self.lacks = None
        self.known_head = None

    @rule()
    def verify(self) -> None:
        """`verify`, beside the head that was noted: a journal that lost that line matches no more."""
        if self.known_head is None:
            return
        number, head = self.known_head
        verdict = verify_run(self.layout.path, head=head).verdict
        if self.lacks is not None and self.lacks <= number:
            assert verdict in {"differs", "lost", "not chained"}
        elif self.is_whole:
            assert verdict_of_journal(self.layout.path, head) == "match"

    # what must hold at any time

    @invariant()
    def only_what_was_measured_is_declared(self) -> None:
        """The journal vouches for no result that was not measured."""
        if self.layout.path.is_dir():
            for job_id, end in end_records(self.layout.path).items():
                assert end.digest == self.measured[job_id], f"{job_id} is declared finished by a forged result"

    # how it is done

    @property
    def _journal(self) -> Path:
        return self.layout.journal("main")

    def _make(self, layout: RunLayout) -> None:
        layout.create()
        write_manifest(layout, {"config_hash": "0" * 64}, JOBS)
        with Journal(layout) as journal:
            declare_meta(layout, journal)

    def _lines(self) -> list[bytes]:
        return self._journal.read_bytes().splitlines(keepends=True) if self._journal.exists() else []

    def _write(self, content: bytes, *, since: int) -> None:
        if self._journal.exists() and self._journal.read_bytes() != content:
            self.is_whole = False
            self.lacks = since if self.lacks is None else min(self.lacks, since)
            self._journal.write_bytes(content)
        self._expect_told()

    def _expect_told(self) -> None:
        """A loss of lines that were there when the run was last closed is named, whatever else was repaired."""
        if self.lacks is None or self.known_head is None or self.lacks > self.known_head[0]:
            return
        if self.is_away and (not self.has_index or self.lacks > self.known_head[0] - SINCE_INDEX):
            return  # nobody knows of them here
        told = [finding for finding in check_run(self.layout.path) if finding.path == self._journal.name]
        assert any(finding.mended_by == "accept" for finding in told), "a loss of the journal is not named"

    def _watch(self, work: Callable[[], Any]) -> None:
        """Do something that may rewrite results: none may then hold a forged score that did not hold one before."""
        before = self._forgeries()
        work()
        assert self._forgeries() <= before, "a result was rewritten from forged events"

    def _forgeries(self) -> set[str]:
        return {p.parent.name for p in self.layout.path.glob("jobs/*/results.json") if FORGED in p.read_bytes()}

    def _live(self, at: int, mode: str) -> None:
        system = CrashingFileSystem(self.root / "runs", at=at, mode=mode, boots=self.boots)
        before = dict(end_records(self.layout.path))
        try:
            with installed(system):
                self.engine.run(self.layout.path)
        except RunDirError:
            assert self.lacks is not None or self.forged, "a run that nobody touched is refused"
            return
        except Crash:
            self.boots += mode.endswith("lost")
        finally:
            system.close_all()
        if self.lacks is None:
            now = end_records(self.layout.path)
            lost = {job_id for job_id, end in before.items() if job_id not in self.forged and now.get(job_id) != end}
            assert not lost, "what was declared finished is so no more"

    def _go_on(self) -> None:
        try:
            self.engine.run(self.layout.path)
            with Journal(self.layout) as journal:
                journal.indexed(seal_of(self.layout.files_index))
        except RunDirError:
            assert self.lacks is not None or self.forged, "a run that nobody touched is refused"
            return
        if self.lacks is None:
            chain = chain_of(self.layout.path)
            assert chain is not None
            self.known_head = len(self._lines()) - 1, chain.head
            self.is_away, self.has_index = False, True


def verdict_of_journal(run: Path, head: str) -> str:
    """Return what is said of the journal alone, whatever lies beside it."""
    found = verify_run(run, head=head)
    return "match" if "is what it was at this head" in found.words else found.verdict


Store.TestCase.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[*HealthCheck],
    phases=[Phase.generate],
)
TestStore = Store.TestCase


def test_an_index_made_after_a_log_was_forged_does_not_vouch_for_it_when_the_journal_is_lost() -> None:
    store = Store()
    store.begin()
    store.resume()
    store.forge(which=0, what="events.jsonl")
    store.resume()
    store.lose(how="nonsense")
    store.teardown()


def test_a_damage_that_was_accepted_is_so_on_another_machine() -> None:
    store = Store()
    store.begin()
    store.is_killed(at=32, mode="after")
    store.garble(place=0.0, byte=27)
    store.cut(keep=0.8, torn=True)
    store.accept()
    store.move()
    store.lose_index(how="nonsense")
    store.resume()
    store.teardown()
