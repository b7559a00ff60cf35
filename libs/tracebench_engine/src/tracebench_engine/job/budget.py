"""A job's budget, used and left: evaluations and wall-clock seconds here, model calls as the gateway counts them; says when it is spent."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from typing import NoReturn, Protocol

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Axis, Budget, BudgetState, SharedLimits, Usage
from tracebench_gateway.access import Refusal, Scope

_NOTHING = Usage()
COUNTER_BYTES = 8
MOST_REFUSALS = 1_000
"""Evaluations refused in one job, after which its trainer is taken to be deaf."""
START_CAPS, SOONEST_START, LATEST_START = 10, 5.0, 60.0
"""A job's clock starts at so many times its cap at the latest; that is no sooner than after the one and no later than after the other."""


class ModelUsage(Protocol):
    """Where the usage of models comes from."""

    def start_clock(self) -> float | None:
        """Count the cap in seconds from now at the latest; return when it began, on the monotonic clock. None: no call is timed."""
        ...

    def began(self) -> float | None:
        """Return when a model was first asked, on the monotonic clock; None while none was."""
        ...

    def used(self) -> Usage:
        """Return what the job's training calls have used up to now."""
        ...

    def refusal(self) -> Refusal | None:
        """Return the cap that first turned a call away."""
        ...


def _latest_start(cap: float) -> float:
    """Return after how many seconds the clock of a job starts at the latest."""
    return min(LATEST_START, max(SOONEST_START, START_CAPS * cap))


class SharedCounter:
    """A number in a file that the processes of a run count up together, never past a cap."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, cap: int) -> bool:
        """Count one up and return True, or return False when the cap is reached."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            taken = self.value()
            if taken >= cap:
                return False
            os.pwrite(self._fd, (taken + 1).to_bytes(COUNTER_BYTES, "little"), 0)
            return True
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def value(self) -> int:
        """Return the number without counting."""
        return int.from_bytes(os.pread(self._fd, COUNTER_BYTES, 0), "little")


class Meter:
    """The job's `BudgetView`, and the one place where an evaluation is granted or refused. Thread-safe."""

    def __init__(
        self,
        caps: Budget,
        *,
        shared: SharedLimits | None = None,
        models: ModelUsage | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_deaf: Callable[[Refusal], None] | None = None,
    ) -> None:
        """`on_deaf` is called when a trainer goes on against `MOST_REFUSALS` refusals: whatever it swallows, it will not stop by itself."""
        self.caps = caps
        self._shared = shared or SharedLimits()
        self._counter = SharedCounter(self._shared.counter) if self._shared.counter else None
        self._models = models
        self._clock = clock
        self._opened = clock()
        self._started: float | None = None
        self._stopped: float | None = None
        self._evaluations = 0
        self._refusal: Refusal | None = None
        self._refused = 0
        self._on_deaf = on_deaf
        self._lock = threading.Lock()

    def grant_evaluation(self) -> None:
        """Count one evaluation.

        Raises:
            BudgetExhausted: when this evaluation would pass a cap of the job or of the run.
        """
        with self._lock:
            self._begin()
            self._check_time()
            if self.caps.evaluations is not None and self._evaluations >= self.caps.evaluations:
                self._refuse("evaluations", "job")
            if (
                self._counter is not None
                and self._shared.evaluations is not None
                and not self._counter.take(self._shared.evaluations)
            ):
                self._refuse("evaluations", "run")
            self._evaluations += 1

    def demand(self, evaluations: int) -> None:
        """Raise BudgetExhausted when so many more evaluations would pass the job's cap, counting none."""
        with self._lock:
            self._check_time()
            if self.caps.evaluations is not None and self._evaluations + evaluations > self.caps.evaluations:
                self._refuse("evaluations", "job")

    def settle(self, evaluations: int) -> None:
        """Training is over: this many of the granted evaluations were made."""
        with self._lock:
            self._evaluations = evaluations

    def check(self) -> None:
        """Raise BudgetExhausted when time is over, or a cap has turned a model call away, a foreign client's included."""
        self.check_time()
        refusal = self.refusal()
        if refusal is not None:
            raise BudgetExhausted(refusal.axis, scope=refusal.scope)

    def check_time(self) -> None:
        """Raise BudgetExhausted when the time of the job or of the run is over."""
        with self._lock:
            self._check_time()

    def opened(self) -> None:
        """The trainer begins: `elapsed` counts from here, and what is charged from the first evaluation or model call."""
        self._opened = self._clock()

    def stop(self) -> None:
        """Stop the clock: training is over."""
        self._stopped = self._clock()

    def seconds(self) -> float:
        """Return the wall seconds since the first evaluation or model call: what a framework takes to import is not charged.

        The clock starts at ten times the cap, but no sooner than after 5 s and no later than after a minute, also for a trainer that has
        asked for nothing yet.
        """
        if self._started is None and self._models is not None:
            self._started = self._models.began()
        if (
            self._started is None
            and self.caps.seconds is not None
            and self.elapsed() >= _latest_start(self.caps.seconds)
        ):
            self._begin()
        now = self._clock() if self._stopped is None else self._stopped
        return 0.0 if self._started is None else max(0.0, now - self._started)

    def elapsed(self) -> float:
        """Return the wall seconds since the trainer began."""
        return (self._clock() if self._stopped is None else self._stopped) - self._opened

    def used(self) -> BudgetState:
        """Return what is used up to now, on every axis."""
        usage = self._models.used() if self._models else _NOTHING
        return BudgetState.of(usage, evaluations=self._evaluations, seconds=self.seconds())

    def refusal(self) -> Refusal | None:
        """Return the cap that first turned away an evaluation or a model call, a foreign client's included; None while none did."""
        return self._refusal or (self._models.refusal() if self._models else None)

    def remaining(self, axis: Axis) -> float | None:
        """Return what is left on an axis, never negative; None where it is free or unknown."""
        cap = getattr(self.caps, axis)
        used = getattr(self.used(), axis)
        return None if cap is None or used is None else max(0.0, cap - used)

    def _begin(self) -> None:
        if self._started is None:
            capped = self._models if self.caps.seconds is not None else None
            began = capped.start_clock() if capped is not None else None
            self._started = self._clock() if began is None else began

    def _check_time(self) -> None:
        if self.caps.seconds is not None and self.seconds() >= self.caps.seconds:
            self._refuse("seconds", "job")
        if self._shared.deadline is not None and time.monotonic() >= self._shared.deadline:
            self._refuse("seconds", "run")

    def _refuse(self, axis: Axis, scope: Scope) -> NoReturn:
        self._refusal = self._refusal or Refusal(axis, scope)
        self._refused += 1
        if self._refused > MOST_REFUSALS and self._on_deaf is not None:
            self._on_deaf(self._refusal)
        raise BudgetExhausted(axis, scope=scope)
