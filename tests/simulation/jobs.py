"""The processes of jobs in a simulated run: what the real code writes is recorded once for each state it may begin from, and written again.

The recording is made by `execution.train` and `execution.score`, on files of its own. A simulated process writes the same, operation by
operation, and may die, hang or write nonsense at any of them.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.simulation.disk import Killed, Life, SimulatedDisk

from tracebench_core.errors import UNWRITABLE
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import JobOrder
from tracebench_engine.job import execution
from tracebench_engine.measure.recorder import Recorder
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


class Recorded(NamedTuple):
    """What a process writes."""

    anew: bool
    """On an empty folder."""
    lines: tuple[bytes, ...]
    whole: tuple[tuple[str, bytes], ...]
    code: int


class Recordings:
    """What the real code does, by what it begins with. Shared by all schedules of a process."""

    def __init__(self, host: PluginHost, scratch: Path) -> None:
        self._host = host
        self._scratch = RunLayout(scratch / "recording")
        self._known: dict[str, Recorded] = {}

    def of(self, order: JobOrder, layout: JobLayout) -> Recorded:
        """Return what the process of an order does to a job's folder."""
        log = layout.events.read_bytes() if order.phase == "score" and layout.events.exists() else b""
        key = hashlib.sha256(f"{order.job.job_id} {order.phase} {order.ended} {order.is_anew} ".encode() + log)
        if (name := key.hexdigest()) not in self._known:
            self._known[name] = self._record(order, layout, log)
        return self._known[name]

    def _record(self, order: JobOrder, layout: JobLayout, log: bytes) -> Recorded:
        shutil.rmtree(self._scratch.path, ignore_errors=True)
        here = self._scratch.job(layout.job_id)
        with files.installed(files.FileSystem()):
            files.make_dir(here.path)
            if log:
                shutil.copytree(layout.path, here.path, dirs_exist_ok=True)
            own = order.model_copy(update={"run_dir": str(self._scratch.path)})
            code = self._run(own)
        after = here.events.read_bytes()
        anew = not after.startswith(log)
        tail = (after if anew else after[len(log) :]).removesuffix(b"\n")
        known = {path.name for path in layout.blobs.glob("*/*")} if not anew and log else set()
        whole = [
            (path.relative_to(here.path).as_posix(), path.read_bytes())
            for path in sorted(here.path.rglob("*"))
            if path.is_file() and path != here.events and path.name not in known
        ]
        whole.sort(key=lambda file: ("blobs" not in file[0], file[0] == "results.json"))
        return Recorded(anew, tuple(line for line in tail.split(b"\n") if line), tuple(whole), code)

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
        self.disk = disk
        self._random = random

    def perform(self, order: JobOrder, fate: str) -> int:
        """Do what the process of an order does, to its end by a fate, and return its exit code."""
        layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
        at = self._random.randrange(1, 30) if fate in {"dies", "hangs", "refuses", "full"} else 0
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
        if order.phase == "train":
            layout.fresh()
        recorded = self._recordings.of(order, layout)
        if recorded.anew and order.phase == "score":
            layout.fresh()
        if fate == "empty":
            return self._random.choice((0, execution.DONE if order.phase == "train" else 0, 1))
        self._put(layout, [file for file in recorded.whole if file[0].startswith("blobs/")])
        part = len(recorded.lines)
        if fate in {"garbage", "huge", "raises"}:
            part = self._random.randrange(max(1, part))
        self._append(layout, [*recorded.lines[:part], *self._nonsense(order, fate, part)])
        if fate == "raises":
            writer = EventWriter(layout)
            Recorder(writer.write).error("RuntimeError", "it raised", traceback="", fatal=False)
            writer.close(durable=False)
            return execution.UNSCORED if order.phase == "score" else 1
        if fate in {"garbage", "huge"}:
            return self._random.choice((1, SIGKILL))
        if order.phase == "score":
            files.remove_cut_short(layout.path)  # as every conclusion begins
        self._put(layout, [file for file in recorded.whole if not file[0].startswith("blobs/")])
        return recorded.code

    def _nonsense(self, order: JobOrder, fate: str, seq: int) -> list[bytes]:
        if fate == "garbage":
            return [self._random.choice(GARBAGE)]
        if fate == "huge" and order.phase == "train":
            return [HUGE % (seq, example) for example in (b"a", b"b")]
        return []

    def _append(self, layout: JobLayout, lines: list[bytes]) -> None:
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
