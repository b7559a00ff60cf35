"""What would settle an open comparison: how many seeds, what they would cost and take, and the command to type."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_core.analysis.outcomes import ENDED
from tracebench_core.analysis.verdicts import DECIDED, Comparison, PairVerdict
from tracebench_core.store.reader import Run
from tracebench_core.store.regular import read_whole

_WORKERS = re.compile(r"^max_workers: (\d+)$", re.MULTILINE)
MOST_TYPED = 200
"""Seeds above which no command is typed out: who wants so many will write a config."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Further seeds of every job of one run, and what they come to if jobs go on as they did."""

    pair: PairVerdict
    seeds: int
    usd: float | None
    """None where a job's price is not known."""
    seconds: float
    command: str
    """Empty where no single run holds the comparison."""

    def __str__(self) -> str:
        seeds = f"+{self.seeds} {'seed' if self.seeds == 1 else 'seeds'}"
        cost = "cost unknown" if self.usd is None else f"about {self.usd:.2f} USD"
        words = f"{self.pair.one} and {self.pair.other}: {seeds} would likely decide, {cost}, {_duration(self.seconds)}"
        return f"{words}: {self.command}" if self.command else f"{words}."


def open_pair(comparison: Comparison) -> PairVerdict | None:
    """Return the leader's first pair that is not decided."""
    entrants = [s.standing.entrant for s in comparison.summaries if s.standing.interval is not None]
    pairs = (comparison.pair(entrants[0], other) for other in entrants[1:])
    return next((pair for pair in pairs if pair is not None and pair.verdict not in DECIDED), None)


def more_seeds(pair: PairVerdict) -> int | None:
    """Return how many further seeds would likely decide a pair; None where that is not known, or none would."""
    if pair.decision is not None:
        return pair.decision.more
    needed = pair.resolution.seeds_needed if pair.resolution is not None else None
    return None if needed is None else max(1, needed - pair.difference.contrast.seeds)


def settling(comparison: Comparison, runs: Sequence[Run]) -> Settling | None:
    """Return what would likely decide between the leader and the first entrant it is not resolved against; None without an answer."""
    pair = open_pair(comparison)
    seeds = None if pair is None else more_seeds(pair)
    if pair is None or seeds is None:
        return None
    ended = [o for o in comparison.outcomes.outcomes if o.status in ENDED]
    costs = [o.used.usd for o in ended]
    each = {(o.task, o.entrant) for o in ended}
    known = [usd for usd in costs if usd is not None]
    usd = math.fsum(known) / len(ended) * len(each) * seeds if ended and len(known) == len(costs) else None
    seconds = math.fsum(o.seconds for o in ended) / max(1, len(ended)) * len(each) * seeds
    return Settling(pair, seeds, usd, seconds / _workers(runs), _command(runs, seeds))


def _workers(runs: Sequence[Run]) -> int:
    """Return how many jobs ran at a time, by the runs' own configs."""
    told = [1]
    for run in runs:
        try:
            found = _WORKERS.search(read_whole(run.layout.config_snapshot).decode())
        except (OSError, ValueError):
            continue
        told += [int(found[1])] if found else []
    return max(told)


def _command(runs: Sequence[Run], seeds: int) -> str:
    if len(runs) != 1 or seeds > MOST_TYPED or not runs[0].layout.config_snapshot.is_file():
        return ""
    present = sorted({job.seed for job in runs[0].planned})
    wanted = [*present, *range(present[-1] + 1, present[-1] + 1 + seeds)]
    snapshot = shlex.quote(str(runs[0].layout.config_snapshot))
    return f"trace-bench run --config {snapshot} --extend -o 'seeds={json.dumps(wanted, separators=(',', ':'))}'"


def _duration(seconds: float) -> str:
    if seconds < 90:  # noqa: PLR2004 - below a minute and a half seconds say more
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004 - as above
