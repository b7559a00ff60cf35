"""The store survives a crash at every one of its file operations, the way SQLite tests itself.

A miniature run of two jobs goes through the store in the engine's order. It is crashed at its k-th operation, for every k: before the
operation, after it, in the middle of a write, and by a power cut that takes everything that was not flushed: file contents alone, or
names in folders too. Then it is resumed, crashed again while it resumes, resumed again, and compared with an undisturbed run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from tests.crash.disk import Crash, CrashingFileSystem
from tests.unit.store.samples import job_spec
from tests.whole import cells, one_in

from tracebench_core.specs import BudgetState, JobSpec
from tracebench_core.specs.events import (
    BestChanged,
    CandidateSeen,
    EvaluationDone,
    JobFinished,
    JobStarted,
    Scored,
)
from tracebench_runs.check.fsck import check_run
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.check.recovery import settle
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.states import StateHistory, write_history
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.journal.commit import commit
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.journal.keys import forget
from tracebench_runs.journal.trust import finished_jobs, read_trust
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.meta.meta import write_job_meta
from tracebench_runs.results.results import write_result
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.files import installed
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.lock import RunLock

MODES = ("before", "after", "torn", "data lost", "names lost")
JOBS = tuple(job_spec(job_id=f"{n:012x}", seed=n) for n in range(2))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class ForgetfulFileSystem(CrashingFileSystem):
    """Counts the flush of a folder, and does not do it."""

    def sync_folder(self, path: Path) -> None:
        self._step(lambda: None)


class Engine:
    """The engine's order of writing, and careless variants of it that must not survive."""

    def __init__(self, careless: str = "") -> None:
        self.careless = careless
        self.executed: list[str] = []
        self.declared: list[str] = []
        """Jobs whose end record was said to be durable."""
        self.boots = 0
        """How often the power went off."""

    def run(self, path: Path) -> None:
        layout = RunLayout(path)
        is_new = not layout.manifest.exists()
        if is_new:
            layout.create()
            if not layout.journal("main").exists():
                forget(layout, layout.journal("main").name)
            write_manifest(layout, {"config_hash": "0" * 64}, JOBS)
        with RunLock(layout), Journal(layout) as journal:
            if is_new:
                declare_meta(layout, journal)
            settled = settle(path, [job.job_id for job in JOBS], journal=journal)
            tables = TableWriter(layout, JOBS, clock=lambda: 0.0)  # how long writing takes decides what is written
            tables.load(settled.finished)
            for now, job in enumerate(JOBS):
                if job.job_id not in settled.finished:
                    self._run_job(layout.job(job.job_id), job, journal=journal, tables=tables)
                    tables.maybe_write(2.0 * now)
            tables.finish(RunEnd(exit_code=0, wall_seconds=1.0, cpu_seconds=1.0))
        write_files_index(layout, trust=read_trust(layout))

    def _run_job(self, layout: JobLayout, job: JobSpec, *, journal: Journal, tables: TableWriter) -> None:
        journal.job_started(job.job_id)
        self.executed.append(job.job_id)
        layout.fresh()
        writer = EventWriter(layout, clock=lambda: round(NOON.timestamp()) * 10**9, monotonic=lambda: 0.0)
        for event in _events(job):
            writer.write(event)
        writer.close(durable=False)
        events = read_events(layout).events
        result = reduce_job(events)
        if self.careless == "journal first":
            journal.job_finished(job.job_id, result.status)
            self.declared.append(job.job_id)
        write_history(layout, StateHistory(events), writer.blobs)
        write_job_meta(layout, job, status=result.status)
        stored = write_result(layout, result, durable=False)
        if self.careless == "not flushed":
            journal.job_finished(job.job_id, result.status, digest=stored.digest)
            self.declared.append(job.job_id)
        elif self.careless != "journal first":
            commit(layout.run, [EndRecord(job.job_id, result.status, stored.digest)], journal=journal)
            self.declared.append(job.job_id)
        tables.add(job, result)


def _events(job: JobSpec) -> Iterator:
    yield JobStarted(
        job_id=job.job_id, task=job.task_id, trainer=job.trainer_id, params={}, seed=job.seed, budget=job.budget, mode="stub", versions={}
    )  # fmt: skip
    yield CandidateSeen(id="c0", parents=(), origin="", values={"x": job.seed, "text": "long " * 500}, step=None)
    yield EvaluationDone(
        candidate="c0", split="train", example="0", score=job.seed, status="ok", metrics={}, feedback="", seconds=0.0
    )
    used = BudgetState(evaluations=1)
    yield BestChanged(candidate="c0", score=job.seed, used=used)
    yield Scored(what="best", split="validation", candidate="c0", score=job.seed, metrics={})
    yield JobFinished(status="ok", stop_reason="completed", used=used)


def _content(path: Path) -> dict[str, bytes]:
    """Return what two runs must have in common: every file but the logs of how the run went."""
    return {
        name: file.read_bytes()
        for file in path.rglob("*")
        if file.is_file()
        and not (name := file.relative_to(path).as_posix()).startswith(
            ("journal-", "attempts/", ".lock", "meta/files_index")
        )
    }


def _crash(engine: Engine, root: Path, *, at: int, mode: str) -> bool:
    """Run the engine into its crash; return whether it got that far."""
    system = CrashingFileSystem(root, at=at, mode=mode, boots=engine.boots)
    if engine.careless == "folders not flushed":
        system = ForgetfulFileSystem(root, at=at, mode=mode, boots=engine.boots)
    with installed(system):
        try:
            engine.run(root / "run")
        except Crash:
            engine.boots += mode.endswith("lost")
            return True
        finally:
            system.close_all()
    return False


@dataclass
class Outcome:
    points: int = 0
    failures: list[str] = field(default_factory=list)


def _crash_everywhere(root: Path, *, careless: str = "", modes: tuple[str, ...] = MODES, again: int = 1) -> Outcome:
    """Crash at every operation in every mode; of so many crashes, one crashes again at an operation of the resume that wanders over all."""
    root.mkdir()
    with installed(CrashingFileSystem(root)) as counting:
        Engine(careless).run(root / "run")
    undisturbed, operations = _content(root / "run"), counting.operations
    outcome = Outcome()
    for mode in modes:
        for at in range(1, operations + 1):
            for second in (0, 1 + (at * 7) % operations) if again and at % again == 0 else (0,):
                outcome.points += 1
                shutil.rmtree(root)
                root.mkdir()
                problem = _crash_and_resume(
                    Engine(careless), root, at=at, mode=mode, second=second, undisturbed=undisturbed
                )
                if problem and careless:
                    return Outcome(outcome.points, [problem])  # one is enough to tell
                if problem:
                    outcome.failures.append(f"{mode} {at}/{operations}, again at {second}: {problem}")
    return outcome


def _crash_and_resume(
    engine: Engine, root: Path, *, at: int, mode: str, second: int, undisturbed: dict[str, bytes]
) -> str:
    assert _crash(engine, root, at=at, mode=mode)
    if second:
        _crash(engine, root, at=second, mode=MODES[(at + second) % len(MODES)])
    assert not _crash(engine, root, at=0, mode="")
    if len(engine.declared) != len(set(engine.declared)):
        return "a job that was declared finished was run again"
    if _content(root / "run") != undisturbed:
        return "files differ from those of an undisturbed run"
    if finished_jobs(root / "run") != {job.job_id: "ok" for job in JOBS}:
        return "the journals do not declare every job finished"
    findings = [f for f in check_run(root / "run") if f.mended_by != "nothing"]
    return f"inconsistent: {findings}" if findings else ""


@pytest.fixture
def root(tmp_path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of small runs are deleted here, which disks are slow at."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "root"
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder, "root")


@pytest.mark.parametrize(
    ("mode", "again"),
    cells(
        product(MODES, (4, 1)), always=[("names lost", 4)], often=[(mode, 4) for mode in MODES]
    ),  # by all, each is crashed at once; the second crashes of all are for the soak
)
def test_a_crash_at_any_operation_loses_and_repeats_nothing_that_was_declared_finished(root, mode, again):
    outcome = _crash_everywhere(root, modes=(mode,), again=again)
    print(f"{outcome.points} crash points, {len(outcome.failures)} failures")
    assert outcome.points > (200 if again == 1 else 100)
    assert outcome.failures == []


@pytest.mark.parametrize("careless", one_in(3, ["journal first", "not flushed", "folders not flushed"]))
def test_a_careless_order_of_writing_does_not_pass(root, careless):
    outcome = _crash_everywhere(root, careless=careless, modes=("names lost",), again=0)
    assert outcome.failures
