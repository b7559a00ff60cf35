"""One schedule: a run that meets a few faults, is resumed through more of them, is left in peace, and must then be what it always is."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.simulation import lab, laws
from tests.simulation.around import GRACE, Silent, Surrounded, Turns
from tests.simulation.disk import DEATHS, POWER_CUTS, REFUSALS, Killed, Life, SimulatedDisk
from tests.simulation.jobs import Jobs, Recordings
from tests.simulation.outside import LONGEST, NeverEndsError, Outside

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api import open_host
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.plan import make_plan
from tracebench_engine.run.committer import Committer
from tracebench_engine.run.continuing import record_resume
from tracebench_engine.run.control import RunControl
from tracebench_engine.run.control_channel import Peer
from tracebench_engine.run.local.executor import LocalExecutor
from tracebench_engine.run.local.process import CLOSING
from tracebench_engine.run.means import Means
from tracebench_engine.run.rundir import hash_config
from tracebench_engine.run.runner import Runner, RunSummary
from tracebench_runs.check.fsck import accept_losses, repair_run
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.journal.trust import end_records, read_trust
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.meta.meta import write_config
from tracebench_runs.storage import files
from tracebench_runs.storage.disk import disk_errors_explained
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import RunLock

PATIENCE = 2 * (GRACE + CLOSING) + 10.0
"""Virtual seconds in which what was asked to end has ended: once for whoever holds the jobs, once for who is started in its place."""
MOST_RESUMES = 12
STATE = "state"
"""The folder, beside the runs, of what outlives them: each schedule has its own, as if nobody had run anything before."""
CONFIG = {
    "tasks": ["lab:one"],
    "trainers": ["Climbs"],
    "seeds": [1, 2],
    "max_workers": 2,
    "run_id": "run",
    "job_timeout": 30.0,
    "scoring_timeout": 20.0,
}


@dataclass
class Report:
    """What became of a schedule."""

    seed: int
    wrong: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    """Faults that there were."""
    resumes: int = 0
    operations: int = 0
    """Of the runners on the disk."""


class Bench:
    """What all schedules of a process have in common: the plan, the recordings, and the run that nobody disturbed."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.host = open_host()
        self.host.register(lab, "lab")
        config = parse_config({**CONFIG, "runs_dir": str(scratch)})
        self.plan = make_plan(config, self.host, environ={})
        self.recordings = Recordings(self.host, scratch)
        drawn = RunLayout(scratch / "described" / "run")
        drawn.path.mkdir(parents=True)
        write_config(drawn.create(), config)
        write_manifest(drawn, {"config_hash": hash_config(config)}, self.plan.jobs)
        self.described = {path: file.read_bytes() for path, file in drawn.described().items() if file.exists()}
        self.expected: dict[str, Any] = {}
        calm = Schedule(self, 0, faults=0)
        calm.run()
        if calm.report.wrong:
            raise AssertionError(f"the undisturbed run: {calm.report.wrong}")
        self.expected = laws.outcome(calm.layout, self.plan)

    def try_one(self, seed: int) -> Report:
        """Go through one schedule."""
        schedule = Schedule(self, seed, faults=1 + Random(seed).randrange(5))
        schedule.run()
        return schedule.report


class Schedule:
    """The run of one seed."""

    def __init__(self, bench: Bench, seed: int, *, faults: int) -> None:
        self.bench = bench
        self.random = Random(f"schedule {seed}")
        self.report = Report(seed)
        self.root = bench.scratch / "runs"
        for left in (self.root, bench.scratch / STATE):
            shutil.rmtree(left, ignore_errors=True)
        self.layout = RunLayout(self.root / "run")
        self.root.mkdir(parents=True)
        self.disk = SimulatedDisk(self.root)
        self.outside = Outside(Jobs(bench.recordings, self.disk, self.random), self.random, faults=faults)
        self.outside.between = self._between
        self.asked_at: float | None = None
        self.was_damaged = False
        self._committer: Committer | None = None
        self._control: RunControl | None = None
        self._life = Life()
        self._declared: dict[str, EndRecord] = {}

    # one process of the run after another

    def run(self) -> None:
        """Begin, resume until there are no more faults, and look at what there is."""
        self._process("run", self._begin)
        while self.outside.faults > 0 and self.report.resumes < MOST_RESUMES:
            self._make_room()
            self._maybe_damage()
            before = self.outside.faults
            self._process("resume", lambda: self._resume(failed=self.random.random() < 0.5))
            if before == self.outside.faults:
                break
        self.outside.faults = 0
        self._make_room()
        for _ in range(3):
            self._process("resume in peace", lambda: self._resume(failed=True))
            if not laws.unfinished(self.layout, self.bench.plan):
                break
        self.report.met.update(self.outside.met)
        if not self.report.wrong:
            self.report.wrong += self._broken_at_the_end()

    def _broken_at_the_end(self) -> Iterator[str]:
        yield from laws.as_expected(laws.outcome(self.layout, self.bench.plan), self.bench.expected)
        if not self.was_damaged:
            yield from laws.ok_once(self.layout)
        yield from laws.nothing_to_mend(self.layout)

    def _process(self, what: str, work: Callable[[], RunSummary]) -> None:
        """Have one process of the run live and end; whatever is no end that it may come to is wrong."""
        self.report.resumes += 1
        outside = self.outside
        outside.clock.clear()
        started = outside.clock.now
        outside.clock.until = started + LONGEST
        self.asked_at = None
        self._life = self._draw_life()
        self._plan_requests()
        summary = self._live(what, work)
        if self.asked_at is not None and outside.clock.now - self.asked_at > PATIENCE:
            self.report.wrong.append(f"{what} ended {outside.clock.now - self.asked_at:.0f} s after it was asked to")
        self.report.operations += self._life.operations
        self._life.dead = self._life.dead or self.disk.lost_power
        with files.installed(self.disk):
            outside.end_all()
        self.disk.close_all()
        if self.disk.lost_power:
            self._after_power_cut()
        self.report.wrong += outside.jobs.wrong
        outside.jobs.wrong.clear()
        if not self.report.wrong:
            now = end_records(self.layout.path) if self.layout.path.is_dir() else {}
            self.report.wrong += [f"{what}: {words}" for words in laws.what_was_ok_stays(self._declared, now)]
            self._declared = now if not self._life.dead else self._flushed(now)
        if summary is not None and not self.report.wrong:
            self.report.wrong += laws.all_agree(self.layout, summary)

    def _flushed(self, ends: dict[str, EndRecord]) -> dict[str, EndRecord]:
        """Return the ends that were declared before, or that no power cut can undo: who died may have died before its flush."""
        flushed = self.disk.flushed(self.layout.journal("main"))
        return {
            job: end for job, end in ends.items() if self._declared.get(job) == end or end.digest.encode() in flushed
        }

    def _live(self, what: str, work: Callable[[], RunSummary]) -> RunSummary | None:
        try:
            with files.installed(self.disk), self.disk.lived(self._life), _quiet():
                return work()
        except (Killed, KeyboardInterrupt):
            return None
        except TraceBenchError as err:
            if not (self.disk.refuses or self.was_damaged or "keeps ending" in str(err)):
                self.report.wrong.append(f"{what}: refused: {err}")
        except NeverEndsError as err:
            self.report.wrong.append(f"{what} never ends: {err}")
        except Exception as err:  # noqa: BLE001 - this is what is looked for
            self.report.wrong.append(f"{what}: internal error: {type(err).__name__}: {err}")
        return None

    def _draw_life(self) -> Life:
        if not self.outside.strikes("", 0.35):
            return Life()
        fault = self.random.choice((*DEATHS, *DEATHS, *POWER_CUTS, *REFUSALS))
        self.outside.met[-1] = f"runner: {fault}"
        return Life(fault, self.random.randrange(1, 120))

    def _after_power_cut(self) -> None:
        refuses = self.disk.refuses
        self.outside.jobs.forget_all_kept()
        self.disk.cut_power(names_survive=self._life.fault == "data lost")
        self._new_disk(self.disk.boots + 1)
        self.disk.refuses = refuses

    def _new_disk(self, boots: int) -> None:
        self.disk = SimulatedDisk(self.root, boots=boots)
        self.outside.jobs.use(self.disk)

    def _make_room(self) -> None:
        self.disk.refuses = ""

    def _plan_requests(self) -> None:
        """Draw what the run is told while it goes on."""
        clock = self.outside.clock
        when = self.random.uniform(0.0, 12.0)
        if self.outside.strikes("Ctrl-C", 0.08):
            clock.at(when, self._interrupt)
        elif self.outside.strikes("killed", 0.08):
            clock.at(when, self._kill)
        elif self.outside.strikes("cancelled", 0.05):
            clock.at(when, lambda: self._tell({"do": "cancel", "reason": "enough"}, is_end=True))
        elif self.outside.strikes("job cancelled", 0.05):
            job = self.random.choice([job.job_id for job in self.bench.plan.jobs])
            clock.at(when, lambda: self._tell({"do": "cancel", "reason": "enough", "job": job}))
        elif self.outside.strikes("paused", 0.05):
            clock.at(when, lambda: self._tell({"do": "pause"}))
            clock.at(when + 5.0, lambda: self._tell({"do": "unpause"}))

    def _interrupt(self) -> None:
        self.asked_at = self.outside.clock.now
        raise KeyboardInterrupt

    def _kill(self) -> None:
        self._life.dead = True
        raise Killed

    def _tell(self, request: dict[str, Any], *, is_end: bool = False) -> None:
        if self._control is not None:
            if is_end:
                self.asked_at = self.outside.clock.now
            with self.disk.lived(self._life):
                self._control.answer(request, Peer(1, 0))

    def _between(self) -> None:
        if self._committer is not None and self._committer.has_waiting and self.random.random() < 0.5:
            with self.disk.lived(self._life):
                self._committer.turn()

    # the engine's own code

    def _begin(self) -> RunSummary:
        layout = self.layout
        with self.disk.lived(Life()):
            layout.create()
            for path, content in self.bench.described.items():
                files.write_whole(layout.path / path, content, durable=True)
            with Journal(layout) as journal:
                declare_meta(layout, journal)
        with disk_errors_explained(layout), RunLock(layout):
            return self._runner("none").run(self._surrounded)

    def _resume(self, *, failed: bool) -> RunSummary:
        trust = read_trust(self.layout)
        with disk_errors_explained(self.layout), RunLock(self.layout):
            record_resume(self.layout, failed=failed, error_type=None, run_budget=None)
            return self._runner("failed" if failed else "auto", known=trust).run(self._surrounded)

    def _runner(self, resume: Any, **known: Any) -> Runner:
        means = Means(self.outside.now, self._make_committer, self._make_executor, self._open_channel)
        return Runner(
            self.bench.plan, self.bench.host, self.layout, reporter=Silent(), resume=resume, means=means, **known
        )

    def _surrounded(self) -> Any:
        return Surrounded(self.bench.plan, self.layout, self.outside)

    def _make_executor(self, *_: object) -> Any:
        return LocalExecutor("simulated", outside=self.outside)  # type: ignore[arg-type]

    def _make_committer(self, conclude: Any) -> Committer:
        turns = Turns()
        committer = Committer(conclude, condition=lambda: turns, thread=lambda **_: turns)  # type: ignore[arg-type,return-value]
        turns.turn = committer.turn
        self._committer = committer
        return committer

    @contextmanager
    def _open_channel(self, layout: RunLayout, control: RunControl, warn: Callable[[str], None]) -> Iterator[None]:
        self._control = control
        try:
            yield
        finally:
            self._control = None

    # damage

    def _maybe_damage(self) -> None:
        """Lose the journal, cut it, or fill it with nonsense, and forge a job's events: none of it may become a result."""
        if not self.outside.strikes("journal damaged, events forged", 0.06):
            return
        journal = self.layout.journal("main")
        lines = journal.read_bytes().splitlines(keepends=True)
        match self.random.randrange(4):
            case 0:
                journal.unlink()
            case 1:
                journal.write_bytes(b"")
            case 2:
                journal.write_bytes(self.random.randbytes(200) + b"\n")
            case 3:
                journal.write_bytes(b"".join(lines[: self.random.randrange(1, 4)]))
        self.was_damaged = True
        self.outside.jobs.forget_all_kept()
        self._declared.clear()
        for log in self.root.glob("run/jobs/*/events.jsonl"):
            log.write_bytes(log.read_bytes().replace(b'"score":2.0', b'"score":' + laws.FORGED))
        self._new_disk(self.disk.boots)
        with files.installed(self.disk), _quiet():
            repair_run(self.layout.path)
        self.report.wrong += [f"repair: {words}" for words in laws.forged_nowhere(self.layout)]
        with files.installed(self.disk), _quiet():
            accept_losses(self.layout.path)
        self.report.wrong += [f"accept: {words}" for words in laws.forged_nowhere(self.layout)]
        self._new_disk(self.disk.boots)


@contextmanager
def _quiet() -> Iterator[None]:
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
