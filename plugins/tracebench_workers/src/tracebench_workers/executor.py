"""The executor `workers`: orders go to whoever has joined and is free, each end is taken once, what a lost worker had is told as lost."""

from __future__ import annotations

import logging
import os
import queue
import secrets
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from tracebench_core.errors import TraceBenchError, UsageError, quoted
from tracebench_core.specs import ExecutorSetting, JobOrder, WorkerState
from tracebench_engine.api.records import RunLayout
from tracebench_workers.fitting import boot, needs_of
from tracebench_workers.frames import FENCE
from tracebench_workers.hub import Given, Hub, Station, Told
from tracebench_workers.keeping import Keeper, Kept, Taken, WorkerEnd
from tracebench_workers.options import Options, Serving
from tracebench_workers.own import OwnWorkers
from tracebench_workers.parcels import pack
from tracebench_workers.refusing import refuse_what_stays
from tracebench_workers.shared import Ground
from tracebench_workers.ticket import Ticket

log = logging.getLogger(__name__)

TICK = 0.2
"""Seconds of one wait. A worker's silence is counted in waits, none of which counts for more: while the run itself is held, none passes."""
CLOSING = 60.0
"""Seconds that workers may take to end their jobs when the run ends, beyond the jobs' grace."""
KILL = 2.0
"""Seconds that a worker may take from the end of a job's grace until nothing of it is left."""
MOST_AT_ONCE = 256
"""Words that are heard in one go, before jobs are ordered again."""
GATHERED = 4e-5
"""Seconds that a word waits for others, times the jobs under way: seeing to several together costs less than to each by itself."""
LONGEST_GATHERED = 0.01
SHORTEST_GATHERED = 0.001
"""Less is not waited for."""


class Placement(Protocol):
    """Workers that somebody starts for a run, here or elsewhere. They join it by its ticket as any other."""

    def look(self) -> Iterable[str]:
        """Start again what has ended and should not have; return the sessions of workers that are known to be gone.

        Raises:
            TraceBenchError: when they cannot be had, or keep ending.
        """
        ...

    def is_well(self) -> None:
        """Hear that a job has ended: what ended before did not end of the run itself."""
        ...

    def close(self) -> None:
        """End all of them, and return when nothing of them is left."""
        ...


class WorkersExecutor:
    """Keeps its workers from one call of `run` to the next, and lets them go when nobody holds it any more.

    Another plugin that places workers derives from it, with `options` and `place` of its own.
    """

    def __init__(self) -> None:
        self._hub: Hub | None = None
        self._ground: Ground | None = None
        self._placed: Placement | None = None
        self._options = Serving()
        self._stations: list[Station] = []
        self._cancelled: set[str] = set()
        self._numbers = count(1)
        self._ready: deque[WorkerEnd] = deque()
        self._kept = 0
        """Ends whose files are being put in place."""
        self._keeper = Keeper()

    def options(self, setting: ExecutorSetting) -> Serving:
        """Return the options of a run."""
        return Options.model_validate(setting.plugins.options.get("workers", {}))

    def place(self, ticket: Ticket, setting: ExecutorSetting, options: Serving) -> Placement | None:
        """Start workers for a run; None when others do."""
        number = options.start if isinstance(options, Options) else 0
        number = number or (0 if options.listen else 1)
        return OwnWorkers(ticket, setting, number) if number else None

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[WorkerEnd]:
        """Run orders on workers as they are free; yield each job's end once its files are here."""
        hub = self._opened(setting)
        again: deque[JobOrder] = deque()
        is_whole = False
        try:
            while True:
                while self._ready:
                    yield from self._follow(self._ready.popleft(), again)
                may_be_more = self._fill(again, orders, setting)
                if not (may_be_more or again or self._ready or self._active):
                    is_whole = True
                    return
                if not self._ready:
                    self._wait(hub)
        finally:
            if not is_whole:
                self._end_all(hub)

    def cancel(self, job_id: str) -> None:
        """Ask one job to end, from any thread, wherever it is."""
        self._cancelled.add(job_id)
        for station in [*self._stations]:
            for number, given in [*station.running.items()]:
                if given.order.job.job_id == job_id and self._hub is not None:
                    self._hub.cancel(station, number)

    def places(self) -> list[WorkerState]:
        """See `Placed`."""
        return [
            WorkerState(
                name=station.name,
                host=station.host,
                slots=station.slots,
                jobs=tuple(given.order.job.job_id for given in [*station.running.values()]),
                silent=station.silence,
                is_reached=station.post is not None,
            )
            for station in [*self._stations]
        ]

    @property
    def _active(self) -> int:
        return self._kept + sum(len(station.running) for station in self._stations)

    def _follow(self, end: WorkerEnd, again: deque[JobOrder]) -> Iterator[WorkerEnd]:
        following = end.order.next_phase(end.exit, end.detail)
        if following is None:
            yield end
        else:
            yield WorkerEnd(end.order, "trained", following.ended)
            again.append(following)

    def _fill(self, again: deque[JobOrder], orders: Iterator[JobOrder | None], setting: ExecutorSetting) -> bool:
        """Give orders to workers that are free; return whether there may be more."""
        active = self._active
        free = [s for s in self._stations if len(s.running) < s.slots and s.post is not None]
        while active < setting.workers:
            if not free and (active or again):
                return True
            try:
                order = again.popleft() if again else next(orders)
            except StopIteration:
                return False
            if order is None:
                return True
            refuse_what_stays(order, is_elsewhere=False)
            if order.job.job_id in self._cancelled:
                self._ready.append(WorkerEnd(order, "cancelled", "it was cancelled before it began"))
                return True
            if (
                not free
            ):  # nobody has joined yet: this one waits, so that the last order's end is noticed without workers, too
                again.append(order)
                return True
            job_id = order.job.job_id
            station = min(free, key=lambda s: (job_id not in s.trained, len(s.running) / s.slots))
            self._give(order, station)
            active += 1
            if len(station.running) >= station.slots:
                free.remove(station)
        return True

    def _give(self, order: JobOrder, station: Station) -> None:
        assert self._hub is not None  # noqa: S101 - `run` opened it
        refuse_what_stays(order, is_elsewhere=station.boot != boot())
        layout, job_id = RunLayout(Path(order.run_dir)), order.job.job_id
        parcel = [*order.relatives]
        if order.phase == "train":
            layout.job(job_id).fresh()
        elif job_id not in station.trained:
            parcel.append(job_id)
        station.trained.discard(job_id)
        if order.access is not None:
            address = urlsplit(order.access["base_url"])
            self._hub.gateway = (address.hostname or "127.0.0.1", address.port or 80)
        number = next(self._numbers)
        words: dict[str, Any] = {"order": order.model_dump_json(), "number": number}
        if station.shares:
            words["copies"] = parcel
        body = pack(layout.jobs, parcel) if parcel and not station.shares else b""
        self._hub.give(station, number, Given(order, words, body, order.limits.deadline))
        if job_id in self._cancelled:  # just now, from another thread
            self._hub.cancel(station, number)

    def _wait(self, hub: Hub) -> None:
        """Hear what workers say for a moment, and count the silence of those that say nothing."""
        hub.wake()
        began = time.monotonic()
        taken: list[Taken] = []
        for told in _news(hub, active=self._active):
            if isinstance(told, Kept):
                self._kept -= told.number
                self._ready.extend(told.ends.result())
            elif told.what == "end":
                taken += filter(None, [self._take(hub, told)])
            else:
                self._hear(hub, told)
        self._kept += len(taken)
        self._keeper.keep(taken, ground=self._ground, tell=hub.told.put)
        passed = min(time.monotonic() - began, TICK)
        for station in [*self._stations]:
            station.silence += passed
            if station.silence > self._options.lease and station.silence > patience(self._options.lease, station):
                self._lose(hub, station, f"worker {station.name} has not said a word for {self._options.lease:g} s")
        if self._placed is not None:
            for session in self._placed.look():
                for station in [s for s in self._stations if s.session == session]:
                    self._lose(hub, station, f"worker {station.name} has ended")

    def _hear(self, hub: Hub, told: Told) -> None:
        station, words = told.station, told.words
        if told.what == "joined":
            log.warning("worker %s has joined: %d at a time", station.name, station.slots)
            self._stations.append(station)
        else:
            self._lose(hub, station, f"worker {station.name} has left: {words['left']}")

    def _take(self, hub: Hub, told: Told) -> Taken | None:
        """Take an end, once; one of what that worker has not is late, and refused."""
        station = told.station
        number = told.words["end"]
        given = station.running.pop(number, None) if not station.is_gone and isinstance(number, int) else None
        hub.acknowledge(station, number)
        if given is None:
            log.warning("worker %s tells an end that is late, or was told already: it is left out", station.name)
            return None
        station.cancelled.discard(number)
        if told.body and given.order.phase == "train":
            station.trained.add(given.order.job.job_id)
        if self._placed is not None:
            self._placed.is_well()
        return Taken(told, given.order)

    def _lose(self, hub: Hub, station: Station, why: str) -> None:
        log.warning("%s, and its %d jobs are lost", why, len(station.running))
        hub.dismiss(station, "it was silent for longer than its lease, and its jobs are run elsewhere")
        self._ready.extend(WorkerEnd(given.order, "lost", why) for given in station.running.values())
        station.running.clear()
        if station in self._stations:
            self._stations.remove(station)

    def _end_all(self, hub: Hub) -> None:
        """Have every job ended, and wait until nothing of them is left."""
        for station in self._stations:
            for number in station.running:
                hub.cancel(station, number)
        until = (
            time.monotonic()
            + CLOSING
            + max((given.order.grace for s in self._stations for given in s.running.values()), default=0.0)
        )
        try:
            while self._active and time.monotonic() < until:
                self._wait(hub)
        finally:
            self._ready.clear()
            self._let_go()
            self._hub, self._placed, self._kept = None, None, 0
            self._stations.clear()

    def _opened(self, setting: ExecutorSetting) -> Hub:
        if self._hub is not None:
            return self._hub
        self._options = options = self.options(setting)
        plain = setting.model_copy(update={"environ": {}, "root": None, "run_dir": "", "uses": ()}).model_dump(
            mode="json"
        )
        stack = ExitStack()
        self._let_go = weakref.finalize(self, stack.close)
        self._ground = _ground(setting, options, stack)
        welcome = {
            "needs": needs_of(setting),
            "setting": plain,
            "lease": options.lease,
            "must_share": options.files == "shared",
        }
        try:
            hub = Hub(options, welcome, self._ground)
        except BaseException:
            self._let_go()
            raise
        try:
            if options.ticket or options.listen:
                _tell_where(hub.ticket, _kept(hub.ticket, options, stack))
            self._placed = self.place(hub.ticket, setting, options)
            if self._placed is not None:
                stack.callback(self._placed.close)
        except BaseException:
            hub.close()
            self._let_go()
            raise
        stack.callback(hub.close)  # before the others: workers that hear it end by themselves
        self._hub = hub
        return hub


def _ground(setting: ExecutorSetting, options: Serving, stack: ExitStack) -> Ground | None:
    """Make the folder that workers may see, unless files are to be streamed."""
    if options.files == "streamed" or not setting.run_dir:
        return None
    try:
        ground = Ground(Path(setting.run_dir))
    except OSError as err:
        raise TraceBenchError(
            f"Workers cannot be given a folder in `{setting.run_dir}`: {err.strerror or err}.",
            hint=f"df -h {quoted(setting.run_dir)}",
        ) from err
    stack.callback(ground.close)
    return ground


def _kept(ticket: Ticket, options: Serving, stack: ExitStack) -> Path:
    """Put a ticket where it is wanted, or else into a folder that is removed with the run's workers."""
    path = Path(
        options.ticket or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trace-bench-")), "ticket")
    )
    try:
        _keep(path, str(ticket))
    except OSError as err:
        raise UsageError(
            f"The ticket cannot be kept in `{path}`: {err.strerror or err}.",
            hint=f"-o plugins.options.{options.plugin}.ticket=ticket",
        ) from err
    return path


def _tell_where(ticket: Ticket, path: Path) -> None:
    where = f"{ticket.host}:{ticket.port}"
    log.warning("workers may join at %s: trace-bench worker --ticket %s", where, path)


def _news(hub: Hub, *, active: int) -> Iterator[Told | Kept]:
    """Yield what is told within a moment, and what waits by then: words of workers, and ends whose files are kept."""
    try:
        first = hub.told.get(timeout=TICK)
        if (moment := min(GATHERED * active, LONGEST_GATHERED)) >= SHORTEST_GATHERED:
            time.sleep(moment)
        yield first
        for _ in range(MOST_AT_ONCE):
            yield hub.told.get_nowait()
    except queue.Empty:
        return


def patience(lease: float, station: Station) -> float:
    """Return the seconds of silence after which a worker is given up: its lease, or as long as its jobs may take to end by then."""
    grace = max((given.order.grace for given in station.running.values()), default=0.0)
    return max(lease, FENCE * lease + grace + KILL)


def _keep(path: Path, text: str) -> None:
    """Put a secret into a file for its owner alone, in one step, through no link."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(f"{text}\n")
    draft.replace(path)
