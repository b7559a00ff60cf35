"""The other processes of a simulated run, and its time: templates that fork jobs, each of which may end, die, hang or talk nonsense."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.job.execution import ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.simulation.jobs import Jobs

LONGEST = 20_000.0
"""Virtual seconds that one process of a run may take; all patience that the engine has, in a row, is less."""
SIGKILL = -9


class NeverEndsError(Exception):
    """The run waits for what will never come."""


class Clock:
    """Virtual time, and what happens at which moment of it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.until = LONGEST
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, seconds: float, do: Callable[[], None]) -> None:
        """Have something happen in so many seconds."""
        heappush(self._events, (self.now + seconds, next(self._numbers), do))

    def clear(self) -> None:
        """Forget what was to come: whose it was is gone."""
        self._events.clear()

    def pass_to(self, moment: float, *, unless: Callable[[], bool]) -> None:
        """Let time pass up to a moment, and no further than to where `unless` holds."""
        while self._events and self._events[0][0] <= moment and not unless():
            self.now, _, do = heappop(self._events)
            do()
        if not unless():
            self.now = max(self.now, moment)
        if self.now > self.until:
            raise NeverEndsError(f"still there at {self.now:.0f} s of virtual time")


@dataclass(eq=False)
class Child:
    """A job's process."""

    order: JobOrder
    number: int
    fate: str
    asked: str = ""
    ended: bool = False


@dataclass(eq=False)
class Half:
    """A template, or its twin: both ends of its wire."""

    world: Outside
    pid: int
    closed: bool = False
    is_hung: bool = False
    held: bool = False
    """It takes nothing and says nothing more."""
    has_messages: bool = False
    told: list[dict[str, Any]] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    """Jobs of which it was given an order."""
    stopping: bool = False
    is_lost: bool = False
    pair: tuple[Half, ...] = ()
    """It and its twin."""

    # the runner's end, as `Wire`

    def send(self, message: dict[str, Any]) -> None:
        """Take a message from the runner; who is held takes none, and is given up with the jobs that it was given."""
        if "start" in message:
            self.started.add(message["job"])
        if not (self.closed or self.held):
            self._obey(message)

    def receive(self, *, timeout: float | None) -> list[dict[str, Any]]:
        """Return what was told."""
        told, self.told = self.told, []
        return told

    def close(self) -> None:
        """Close the runner's end; who is held is given up, and its twin with it."""
        if self.held:
            self.is_lost = True
            self._forget_kept()

    # the template

    def _obey(self, message: dict[str, Any]) -> None:
        world = self.world
        if "start" in message:
            order = JobOrder.model_validate_json(message["start"])
            child = Child(order, message["number"], world.fate_of(order))
            self.children.append(child)
            limit = message["timeout"]
            if child.fate in {"hangs", "refuses"}:
                world.clock.at(limit, lambda: self._ask(child, "timeout"))
            else:
                world.clock.at(world.random.uniform(0.2, 3.0), lambda: self.end(child))
        elif "cancel" in message:
            for child in self.children:
                if child.order.job.job_id == message["cancel"]:
                    self._ask(child, "cancelled")
        elif "ping" in message:
            world.clock.at(0.01, lambda: self.tell({"alive": True}))
        elif "stop" in message:
            self.stopping = True
            for child in [*self.children]:
                self._ask(child, "cancelled")
            self._maybe_leave()

    def _ask(self, child: Child, why: str) -> None:
        if not (child.ended or child.asked or self.held):
            child.asked = why
            wait = child.order.grace if child.fate == "refuses" else self.world.random.uniform(0.0, child.order.grace)
            self.world.clock.at(wait, lambda: self.end(child))

    def end(self, child: Child) -> None:
        """A job's process has ended; a template that is held does not tell it."""
        if child.ended or self.closed:
            return
        child.ended = True
        code = self.world.perform(child.order, "dies" if child.asked else child.fate)
        self.children.remove(child)
        word, detail = ending(code, asked=child.asked)
        end = {"end": child.order.job.job_id, "number": child.number, "exit": word, "detail": detail}
        for message in self.world.as_told(end):
            self.tell(message)
        self._maybe_leave()

    def tell(self, message: dict[str, Any]) -> None:
        """Say something to the runner."""
        if not (self.held or self.closed):
            self.told.append(message)

    def _maybe_leave(self) -> None:
        if self.stopping and not self.children and not self.held:
            self.world.clock.at(0.01, self.die)

    def die(self, *, how: str = "dies") -> None:
        """End, and every job below with it."""
        if not self.closed:
            self.closed = True
            for child in self.children:
                child.ended = True
                self.world.perform(child.order, how)
            self.children.clear()
        self._forget_kept()

    def _forget_kept(self) -> None:
        """Expect nothing of what the jobs of a lost pair kept."""
        if any(half.is_lost for half in self.pair):
            for job_id in {job_id for half in self.pair for job_id in half.started}:
                self.world.jobs.forget_kept(job_id)

    def vanish(self) -> None:
        """Die under the runner: the jobs of both halves are run again, and what they kept is not believed."""
        self.is_lost = True
        self.die()


@dataclass(eq=False)
class Launched:
    """The process that became a template and its twin."""

    halves: tuple[Half, Half]

    @property
    def pid(self) -> int:
        """The template's."""
        return self.halves[0].pid

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the template."""
        world = self.halves[0].world
        moment = world.clock.now + (LONGEST if timeout is None else timeout)
        world.clock.pass_to(moment, unless=lambda: self.halves[0].closed)
        if not self.halves[0].closed:
            raise subprocess.TimeoutExpired("template", timeout or 0.0)
        return 0


class Outside:
    """See `tracebench_engine.run.local.outside.Outside`: the same, of a machine that there is not."""

    def __init__(self, jobs: Jobs, random: Random, *, faults: int) -> None:
        self.clock = Clock()
        self.jobs = jobs
        self.random = random
        self.faults = faults
        """How many more there are to be."""
        self.met: list[str] = []
        """Faults that there were."""
        self.has_servers = random.random() < 0.5
        """Whether jobs stand on what may die under them, and take what comes of that for measurements."""
        self._died_under: set[str] = set()
        self.between: Callable[[], None] = lambda: None
        """Called while the runner waits."""
        self._pids = count(100)
        self._halves: dict[int, Half] = {}

    def strikes(self, what: str, chance: float) -> bool:
        """Say whether a fault happens now."""
        if self.faults <= 0 or self.random.random() >= chance:
            return False
        self.faults -= 1
        self.met.append(what)
        return True

    def fate_of(self, order: JobOrder) -> str:
        """Say how a job's process will end."""
        fates: tuple[str, ...] = ("dies", "dies", "hangs", "refuses", "garbage", "huge", "full", "raises", "empty")
        fates += ("forges",) if order.phase == "train" else ("dies",)
        fates += ("server dies", "server dies unnoticed") if self.has_servers else ()
        if not self.strikes("", 0.25):
            return "done"
        fate = self.random.choice(fates)
        self.met[-1] = f"{order.phase} {fate}"
        return fate

    def note_death(self, job_id: str) -> None:
        """A server dies under a job."""
        self._died_under.add(job_id)

    def has_died(self, job_id: str) -> bool:
        """Say whether a server died under a job since it was ordered."""
        return job_id in self._died_under

    def forget_death(self, job_id: str) -> None:
        """The job is ordered anew, on the next server."""
        self._died_under.discard(job_id)

    def perform(self, order: JobOrder, fate: str) -> int:
        """Have a job's process do what it does, and return its exit code."""
        if fate.startswith("server dies"):
            self.note_death(order.job.job_id)
        return self.jobs.perform(order, fate)

    def as_told(self, end: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the end of a job as it is told: once as a rule."""
        if self.strikes("told twice", 0.05):
            return [end, end]
        if self.strikes("told late again", 0.03):
            self.clock.at(self.random.uniform(0.0, 2.0), lambda: self._tell_all(end))
        if self.strikes("nonsense", 0.03):
            return [{"end": 7}, {"number": []}, {**end, "exit": "gone"}, {"end": end["end"], "number": 10**6}, end]
        return [end]

    def _tell_all(self, message: dict[str, Any]) -> None:
        for half in [*self._halves.values()]:
            half.tell(message)

    # as `Outside`

    def launch(self, entry: str, setting: ExecutorSetting) -> tuple[Any, Any, Any]:
        """Start a template and its twin."""
        first, second = Half(self, next(self._pids)), Half(self, next(self._pids))
        first.pair = second.pair = (first, second)
        self._halves |= {first.pid: first, second.pid: second}
        if self.strikes("template held at start", 0.03):
            first.held = second.held = True
        for half in (first, second):
            self.clock.at(0.2, lambda half=half: half.tell({"ready": half.pid}))
            if self.strikes("template dies", 0.08):
                self.clock.at(self.random.uniform(0.0, 8.0), half.vanish)
            if self.strikes("template held", 0.08):
                self.clock.at(self.random.uniform(0.0, 8.0), lambda half=half: setattr(half, "held", True))
        launched = Launched((first, second))
        return launched, first, second

    def ready(self, wires: Sequence[Half], seconds: float) -> list[Half]:
        """Wait for a word."""
        self.between()
        self.clock.pass_to(self.clock.now + seconds, unless=lambda: any(w.told or w.closed for w in wires))
        return [wire for wire in wires if wire.told or wire.closed]

    def now(self) -> float:
        """Return virtual seconds."""
        return self.clock.now

    def kill_tree(self, pid: int) -> None:
        """Kill a process and what is below it."""
        half = self._halves[pid]
        half.vanish()
        other = self._halves.get(pid + 1)
        if half.held and other is not None and other.held:
            other.vanish()  # they had not parted yet

    def end_all(self) -> None:
        """The runner is gone: so is everything below it, and the servers perhaps before the jobs that stand on them."""
        for half in self._halves.values():
            fates = ("dies", "dies", "server dies", "server dies unnoticed") if self.has_servers else ("dies",)
            half.die(how=self.random.choice(fates))
        self._halves.clear()
        self._died_under.clear()
        if self.has_servers:
            self.jobs.forget_all_kept()
        self.clock.clear()
