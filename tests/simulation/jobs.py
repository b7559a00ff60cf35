"""The processes of jobs in a simulated run: what the real code writes is recorded once for each state it may begin from, and written again.

The recording is made by `execution.train` and `execution.score`, on files of its own. A simulated process writes the same, operation by
operation, and may die, hang or write nonsense at any of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from tests.simulation import lab
from tests.simulation.disk import Killed, Life, SimulatedDisk

from tracebench_core.errors import UNWRITABLE
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import ExampleResult, JobOrder
from tracebench_engine.job import execution
from tracebench_engine.job.finish import conclude
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.scored_before import ScoredBefore
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import JobLayout, RunLayout

SIGKILL = -9
HUGE = (
    b'{"v":1,"seq":%d,"t":"2026-11-21T04:05:06.789Z","mono":9.0,"kind":"evaluation","candidate":"c0","split":"train",'
    b'"example":"%s","score":-1.7e308,"status":"ok","metrics":{},"feedback":"","seconds":0.0,"by":"trainer","step":null}'
)
GARBAGE = (
    b'{"v":1,"seq":7',
    b"\x00\xff\xfe nonsense",
    b'{"v":1,"seq":40,"t":"2026-11-21T04:05:06.789Z","mono":9.0,"kind":"scored","what":"best","split":"test","candidate":"c0","score":99.0}',
    b"[]",
    b'{"kind":"finished"}',
)


RECORD = "recording"
"""What keys the measurements that a recording keeps; a simulated process signs them with its own."""
WRONG, FORGED = -7.0, 99.0
"""What a dead server passes for a measurement, and what a trainer would like to be one."""
_SCORE = re.compile(rb'"score":[^,}]+')


class Step(NamedTuple):
    """What a process does before it writes its files: it appends an event, measures, or keeps what it measured."""

    do: Literal["tell", "measure", "keep"]
    line: bytes

    def kept(self) -> tuple[str, ExampleResult]:
        """Return the name of what was measured, and the measurement."""
        key, told, _ = json.loads(self.line)
        return key, ExampleResult.model_validate(told)


class Recorded(NamedTuple):
    """What a process does."""

    anew: bool
    """On an empty folder."""
    steps: tuple[Step, ...]
    whole: tuple[tuple[str, bytes], ...]
    code: int

    def measured(self) -> Counter[bytes]:
        """Return how often it measures what."""
        return Counter(step.line for step in self.steps if step.do == "measure")


class Listening(files.FileSystem):
    """Hears what is appended to a job's logs, and what is measured in between."""

    def __init__(self, job: JobLayout) -> None:
        self.steps: list[Step] = []
        self._logs = {job.events: "tell", job.scoring: "keep"}
        self._open: dict[int, Any] = {}
        lab.MEASURED.clear()

    def open(self, path: Path, flags: int, *, private: bool = False) -> int:
        fd = super().open(path, flags, private=private)
        self._open[fd] = self._logs.get(path)
        return fd

    def write(self, fd: int, data: bytes) -> int:
        self.steps += [Step("measure", what.encode()) for what in lab.MEASURED]
        lab.MEASURED.clear()
        if self._open[fd] is not None:
            self.steps += [Step(self._open[fd], line) for line in data.split(b"\n") if line]
        return super().write(fd, data)


class Recordings:
    """What the real code does, by what it begins with. Shared by all schedules of a process."""

    def __init__(self, host: PluginHost, scratch: Path) -> None:
        self._host = host
        self._scratch = RunLayout(scratch / "recording")
        self._known: dict[str, Recorded] = {}
        self.scored: dict[str, dict[str, ExampleResult]] = defaultdict(dict)
        """By job, all that a scoring was ever seen to keep."""

    @contextmanager
    def made_anew(self) -> Iterator[None]:
        """Record everything anew in the block: the code is another there."""
        before, self._known = self._known, {}
        try:
            yield
        finally:
            self._known = before

    def of(self, order: JobOrder, layout: JobLayout, kept: Mapping[str, ExampleResult]) -> Recorded:
        """Return what the process of an order does to a job's folder, where a scoring before it had kept that."""
        log = layout.events.read_bytes() if order.phase == "score" and layout.events.exists() else b""
        told = sorted((key, result.feedback.score) for key, result in kept.items())
        key = hashlib.sha256(f"{order.job.job_id} {order.phase} {order.ended} {order.is_anew} {told} ".encode() + log)
        if (name := key.hexdigest()) not in self._known:
            self._known[name] = self._record(order, layout, log, kept)
        return self._known[name]

    def _record(self, order: JobOrder, layout: JobLayout, log: bytes, kept: Mapping[str, ExampleResult]) -> Recorded:
        shutil.rmtree(self._scratch.path, ignore_errors=True)
        here = self._scratch.job(layout.job_id)
        with files.installed(files.FileSystem()):
            files.make_dir(here.path)
            if log:
                shutil.copytree(layout.path, here.path, dirs_exist_ok=True)
            here.scoring.unlink(missing_ok=True)
            before = ScoredBefore(here.scoring, RECORD)
            for key, result in kept.items():
                before.keep(key, result)
        own = order.model_copy(update={"run_dir": str(self._scratch.path), "record": order.record and RECORD})
        with files.installed(Listening(here)) as heard:
            code = self._run(own)
        self.scored[layout.job_id] |= dict(step.kept() for step in heard.steps if step.do == "keep")
        after = here.events.read_bytes()
        anew = not after.startswith(log)
        known = {path.name for path in layout.blobs.glob("*/*")} if not anew and log else set()
        whole = [
            (path.relative_to(here.path).as_posix(), path.read_bytes())
            for path in sorted(here.path.rglob("*"))
            if path.is_file() and path not in {here.events, here.scoring} and path.name not in known
        ]
        whole.sort(key=lambda file: ("blobs" not in file[0], file[0] == "results.json"))
        return Recorded(anew, tuple(heard.steps), tuple(whole), code)

    def _run(self, order: JobOrder) -> int:
        try:
            if order.phase == "train":
                execution.train(order, self._host)
                return execution.TRAINED
            return execution.DONE if execution.score(order, self._host) else execution.UNSCORED
        except Exception:  # noqa: BLE001 - it ends as a process does
            return 1


class Jobs:
    """The processes of the jobs of one schedule."""

    def __init__(self, recordings: Recordings, disk: SimulatedDisk, random: Random) -> None:
        self._recordings = recordings
        self.use(disk)
        self._random = random
        self._kept: dict[str, Counter[bytes]] = defaultdict(Counter)
        """By job, how often its scoring keeps what: nobody is to measure that again."""
        self.wrong: list[str] = []
        """What was measured again."""

    def use(self, disk: SimulatedDisk) -> None:
        """Go on with a disk."""
        self.disk = disk
        disk.removed = self._is_removed

    def _is_removed(self, path: Path) -> None:
        """Expect nothing that a job kept whose result lies there: it was concluded, if its runner did not die before it said so."""
        if path.name == "scoring.jsonl" and path.with_name("results.json").exists():
            self.forget_kept(path.parent.name)

    def forget_kept(self, job_id: str) -> None:
        """Expect nothing of what the scoring of a job had kept."""
        self._kept.pop(job_id, None)

    def forget_all_kept(self) -> None:
        """Expect nothing of what any scoring had kept."""
        self._kept.clear()

    def perform(self, order: JobOrder, fate: str) -> int:
        """Do what the process of an order does, to its end by a fate, and return its exit code."""
        layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
        at = self._random.randrange(1, 60) if fate in {"dies", "hangs", "refuses", "full"} else 0
        how = "full" if fate == "full" else self._random.choice(("before", "after", "torn"))
        try:
            with self.disk.lived(Life(how if at else "", at)) as life:
                code = self._write(order, layout, fate)
        except Killed:
            return SIGKILL
        except OSError as err:
            return execution.DISK_REFUSED if err.errno in UNWRITABLE else 1
        return SIGKILL if at and how != "full" and life.operations >= at else code

    def _write(self, order: JobOrder, layout: JobLayout, fate: str) -> int:
        recorded = self._begin(order, layout)
        is_spoilt = fate.startswith("server dies")
        if fate == "empty":
            return self._random.choice((0, execution.DONE if order.phase == "train" else 0, 1))
        self._put(layout, [file for file in recorded.whole if file[0].startswith("blobs/")])
        part = len(recorded.steps)
        if fate in {"garbage", "huge", "raises", "server dies"}:
            part = self._random.randrange(max(1, part))
        self._go(order, layout, recorded.steps[:part], is_spoilt=is_spoilt)
        self._append(layout, self._nonsense(order, fate, part))
        if fate == "forges":
            self._forge(layout)
        if fate == "raises":
            writer = EventWriter(layout)
            Recorder(writer.write).error("RuntimeError", "it raised", traceback="", fatal=False)
            writer.close(durable=False)
            return execution.UNSCORED if order.phase == "score" else 1
        if fate in {"garbage", "huge", "server dies"}:
            return self._random.choice((1, SIGKILL))
        if order.phase == "score":
            files.remove_cut_short(layout.path)  # as every conclusion begins
        if is_spoilt and recorded.code == execution.DONE:
            conclude(layout, order.job)  # of what it measured
        else:
            self._put(layout, [file for file in recorded.whole if not file[0].startswith("blobs/")])
        if recorded.code == execution.DONE:
            self.forget_kept(layout.job_id)
            files.remove(layout.scoring)
        return recorded.code

    def _begin(self, order: JobOrder, layout: JobLayout) -> Recorded:
        """Return what is to be done, of which nothing is measured that was kept."""
        if order.phase == "train":
            layout.fresh()
            self.forget_kept(layout.job_id)
            return self._recordings.of(order, layout, {})
        recorded = self._recordings.of(order, layout, dict(kept_by(layout.scoring, order.record)))
        if recorded.anew:
            layout.fresh()
            return recorded
        due = self._recordings.of(order, layout, {}).measured() - self._kept[layout.job_id]
        again = recorded.measured() - due
        self.wrong += [f"job {layout.job_id} measures {what.decode()} again, which was kept" for what in again]
        return recorded

    def _go(self, order: JobOrder, layout: JobLayout, steps: Sequence[Step], *, is_spoilt: bool) -> None:
        kept = ScoredBefore(layout.scoring, order.record)
        what = b""
        for step in steps:
            match step.do:
                case "measure":
                    what = step.line
                case "keep":
                    key, result = step.kept()
                    kept.keep(key, _scored(result, WRONG) if is_spoilt else result)
                    if key in dict(kept_by(layout.scoring, order.record)):
                        self._kept[layout.job_id][what] += 1
                case "tell":
                    wrong = b'"score":%r' % WRONG
                    self._append(layout, [_SCORE.sub(wrong, step.line) if is_spoilt else step.line])

    def _forge(self, layout: JobLayout) -> None:
        """Leave measurements for the scoring, as far as a process that trains can: it knows their names, and no secret."""
        forged = ScoredBefore(layout.scoring, "no secret")
        for key, result in self._recordings.scored[layout.job_id].items():
            forged.keep(key, _scored(result, FORGED))

    def _nonsense(self, order: JobOrder, fate: str, seq: int) -> list[bytes]:
        if fate == "garbage":
            return [self._random.choice(GARBAGE)]
        if fate == "huge" and order.phase == "train":
            return [HUGE % (seq, example) for example in (b"a", b"b")]
        return []

    def _append(self, layout: JobLayout, lines: Sequence[bytes]) -> None:
        if not lines:
            return
        log = files.AppendLog(layout.events)
        try:
            for line in lines:
                log.append(line)
        finally:
            log.close()

    def _put(self, layout: JobLayout, contents: list[tuple[str, bytes]]) -> None:
        for name, content in contents:
            files.make_dir((layout.path / name).parent)
            files.write_whole(layout.path / name, content)


def kept_by(path: Path, secret: str) -> Iterator[tuple[str, ExampleResult]]:
    """Yield the measurements that a scoring with this secret would find."""
    yield from ScoredBefore(path, secret)._known.items()


def _scored(result: ExampleResult, score: float) -> ExampleResult:
    return result.model_copy(update={"feedback": result.feedback.model_copy(update={"score": score})})
