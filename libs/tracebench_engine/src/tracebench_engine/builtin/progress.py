"""How far a running job is, read from its events as they are written: budget, best so far, time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_core import money
from tracebench_core.specs import JobSpec

BAR = 10
MOST_READ = 4_000_000
"""Bytes of new events that are read at a time."""
TOLD = (b'"evaluation"', b'"llm_call"', b'"best"', b'"activity"', b'"trained"', b'"scored"')


class JobProgress:
    """Follows one job's events file. Amounts are those of training, as far as events tell them."""

    def __init__(self, job: JobSpec, events: Path) -> None:
        self.job = job
        self.best: float | None = None
        self.doing = ""
        """What an evaluation under way says that it does, or what the engine does after training; empty while nothing is said."""
        self.points: list[tuple[float, float]] = []
        """Where the best changed: the share of the budget that was used by then, as `share` tells it, and its score."""
        self.used: dict[str, float | None] = {"evaluations": 0.0, "llm_calls": 0.0, "tokens": 0.0, "usd": 0.0}
        """Of each axis; None where the price of a call is not known."""
        self._events = events
        self._offset = 0
        self._began = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the job was started."""
        return time.monotonic() - self._began

    def read(self) -> None:
        """Take what was written since the last time; a line that is not whole yet waits."""
        try:
            with self._events.open("rb") as file:
                file.seek(self._offset)
                new = file.read(MOST_READ)
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            if any(kind in line for kind in TOLD):
                with suppress(ValueError, TypeError, AttributeError):  # a line that is no event: `fsck` tells of it
                    self._take(json.loads(line))

    @property
    def read_until(self) -> int:
        """Bytes of the log that were read."""
        return self._offset

    def share(self) -> float | None:
        """Return how much of the budget is used, from 0 to 1, on the axis that is furthest; None without a cap."""
        return self.share_at(self.elapsed)

    def share_at(self, seconds: float) -> float | None:
        """Return the same for a job that was started so many `seconds` ago."""
        return self._share({**self.used, "seconds": seconds})

    def left(self) -> float | None:
        """Return the seconds that training goes on at this pace to reach its cap; None while nothing tells."""
        share = self.share()
        return None if not share else self.elapsed * (1 - share) / share

    def bar(self) -> str:
        """Return the budget as a bar: `████░░░░░░`; a hyphen without a cap."""
        share = self.share()
        filled = round((share or 0.0) * BAR)
        return "-" if share is None else f"{'█' * filled}{'░' * (BAR - filled)}"

    def amounts(self) -> str:
        """Return the budget in numbers: `16 of 40 evaluations`."""
        caps = {axis: cap for axis, cap in self.job.budget.caps().items() if axis in self.used}
        words = [f"{_amount(self.used[axis])} of {cap:.4g} {axis.replace('_', ' ')}" for axis, cap in caps.items()]
        return ", ".join(words or [f"{_amount(self.used['evaluations'])} evaluations"])

    def _take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("kind")
        if kind == "activity":
            done, total = event.get("done"), event.get("total")
            self.doing = str(event.get("doing", "")) + (f" ({done} of {total})" if total else "")
        elif kind in {"trained", "scored"}:
            self.doing = "scoring the finalists"
        elif kind == "evaluation" and event.get("by") == "trainer":
            self.doing = ""
        if kind == "evaluation" and event.get("by") == "trainer" and not event.get("reused"):
            self._add("evaluations", 1)
        elif kind == "llm_call" and event.get("phase") == "training" and event.get("status") == "ok":
            self._add("llm_calls", 1)
            self._add("tokens", event.get("prompt_tokens", 0) + event.get("completion_tokens", 0))
            spent, usd = self.used["usd"], event.get("usd")
            free = bool(event.get("cached"))
            self.used["usd"] = spent if free else None if spent is None or usd is None else money.total([spent, usd])
        elif kind == "best" and isinstance(event.get("score"), int | float):
            self.best = float(event["score"])
            self._point(event, self.best)

    def _add(self, axis: str, amount: float) -> None:
        self.used[axis] = (self.used[axis] or 0) + amount

    def _point(self, event: Mapping[str, Any], best: float) -> None:
        share = self._share(event.get("used") or {})
        if share is None:
            return
        while self.points and self.points[-1][0] >= share:
            self.points.pop()
        self.points.append((share, best))

    def _share(self, used: Mapping[str, Any]) -> float | None:
        """Return the share of the budget that amounts are, on the axis that is furthest; None without a cap on any of them."""
        shares = [
            used[axis] / cap
            for axis, cap in self.job.budget.caps().items()
            if cap and isinstance(used.get(axis), int | float)
        ]
        return min(max(shares), 1.0) if shares else None


def _amount(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def clock(seconds: float | None) -> str:
    """Return a time as `m:ss`, or `h:mm:ss` from an hour on; a hyphen when it is not known."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
