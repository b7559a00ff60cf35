"""What would settle an open comparison: how many seeds, what they would cost and take, and the command to type."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracebench_analysis.comparison.outcomes import ENDED, unscored
from tracebench_analysis.comparison.verdicts import DECIDED, Comparison, PairVerdict
from tracebench_core.errors import RunDirError
from tracebench_core.specs import RunConfig
from tracebench_core.specs.seeds import write_seeds
from tracebench_runs.meta.meta import read_config
from tracebench_runs.reading.reader import Run


@dataclass(frozen=True, slots=True)
class Settling:
    """Further seeds of every job of one run, and what they come to if jobs go on as they did."""

    pair: PairVerdict
    seeds: int
    usd: float | None
    """None where a job's price is not known."""
    seconds: float
    command: str
    """Empty where no single run holds the comparison, or none that could go on."""

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


def hints(comparison: Comparison, runs: Sequence[Run]) -> list[str]:
    """Return for each run the command that tries again what ended without a score; nothing where all ended with one."""
    lost = {o.run_id for o in unscored(comparison.outcomes.outcomes) if o.status != "ok"}
    folders = [run.layout.path for run in runs if run.run_id in lost and not run.layout.is_recording]
    return [
        f"hint: {shlex.join(['trace-bench', 'resume', str(folder), '--failed'])}   (tries the failed jobs again, once the cause is mended)"
        for folder in folders
    ]


def _config(run: Run) -> RunConfig | None:
    try:
        return read_config(run.layout)
    except RunDirError:
        return None


def _workers(runs: Sequence[Run]) -> int:
    """Return how many jobs ran at a time, by the runs' own configs."""
    return max((config.max_workers for run in runs if (config := _config(run)) is not None), default=1)


def _command(runs: Sequence[Run], seeds: int) -> str:
    """Return what adds the next seeds to a run, from the folder where one is; empty where typing it would not."""
    config = _config(runs[0]) if len(runs) == 1 and not runs[0].layout.is_recording else None
    if config is None or config.mode == "replay" or config.run_id != runs[0].layout.path.name:
        return ""
    folder, root = runs[0].layout.path, runs[0].manifest.get("root")
    present = {job.seed for job in runs[0].planned}
    wanted = write_seeds([*present, *range(max(present) + 1, max(present) + 1 + seeds)])
    words = [
        "trace-bench",
        "run",
        "--config",
        str(runs[0].layout.config_snapshot),
        "--extend-seeds",
        "-o",
        f"seeds={wanted}",
    ]
    words += ["--runs-dir", str(folder.parent)] if Path(config.runs_dir).resolve() != folder.resolve().parent else []
    words += ["--root", root] if root else []
    return shlex.join(words)


def _duration(seconds: float) -> str:
    if seconds < 90:  # noqa: PLR2004 - below a minute and a half seconds say more
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"  # noqa: PLR2004 - as above
