"""What is drawn and told of runs whose jobs have events: curves, profiles, what a cap would have left, and the page that tells one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.kept.store import Said, said_of_each
from tests.kept.text import digest_of, text_of
from tests.unit.analysis.logged import make_logged
from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.sentences import verdict_sentence
from tracebench_analysis.figures.plots import curve_rows, leaderboard_rows, profile_rows, rank_rows, reached_rows
from tracebench_analysis.figures.tracks import Tracks, sparkline
from tracebench_analysis.recap import recap_run
from tracebench_analysis.report.story import About, render_story
from tracebench_core.errors import UsageError
from tracebench_core.specs import Budget, Price
from tracebench_runs.reading.reader import Run


def climbs(trainer: str, task: str, seed: int) -> Sequence[float]:
    """Return heights that rise by steps, higher for `A`, of which some fall back."""
    steps = {"A": (0.5, 0.25, 0.75, 1.0), "B": (0.5, 0.625, 0.5), "C": (0.5, 0.5)}[trainer]
    return [step + 0.0625 * seed * (i > 0) for i, step in enumerate(steps)]


RUNS: Mapping[str, Mapping[str, Any]] = {
    "climbs": {"heights": climbs},
    "nobody gains": {"heights": lambda t, k, s: (0.5, 0.25), "seeds": (0, 1), "tasks": ("s:x",)},
    "unknown prices": {
        "heights": climbs,
        "trainers": "ABC",
        "usd": None,
        "tasks": ("s:x",),
        "budget": Budget(evaluations=4),
    },
}
CAPS: Mapping[str, tuple[Budget, Mapping[str, Price]]] = {
    "as it was": (Budget(), {}),
    "two evaluations": (Budget(evaluations=2), {}),
    "one call": (Budget(llm_calls=1), {}),
    "tokens": (Budget(tokens=210), {}),
    "more than it was allowed": (Budget(evaluations=9), {}),
    "half a USD": (Budget(usd=0.5), {}),
    "half a USD at other prices": (Budget(usd=0.5), {"m": Price(prompt=4000, completion=1000)}),
    "seconds": (Budget(seconds=15), {}),
    "another model": (Budget(), {"mm": Price(prompt=1, completion=1)}),
}


def curves_of(name: str, folder: Path) -> list[str]:
    """Return what is drawn and told of one run."""
    run = make_logged(folder / "r", **RUNS[name])
    return [line.replace(str(folder), "PLACE") for line in (*_drawn(run), *_capped(run), *_page(run))]


def _drawn(run: Run) -> Iterator[str]:
    found = compare_runs([run])
    tracks = Tracks([run], found.outcomes)
    for axis in ("evaluations", "tokens", "usd"):
        most, gains = tracks.scale(axis)
        yield f"{axis}: up to {most:g}, gains {text_of(gains)}"
        for track in tracks.on(axis):
            ys = track.curve.ys
            bars = sparkline([(y - 0.5) * 2 for y in ys])
            yield f"  {track.outcome.entrant} {track.outcome.seed}: {text_of(track.curve)} {bars}"
    rows: Mapping[str, Callable[[], Any]] = {
        "leaderboard": lambda: leaderboard_rows(found),
        "curves": lambda: curve_rows(tracks, found),
        "profile": lambda: profile_rows(found),
        "reached": lambda: reached_rows(tracks, found),
        "ranks": lambda: rank_rows(found),
    }
    for what, make in rows.items():
        told = make()
        yield f"{what}: {len(told)} rows {digest_of(told)}, the last {text_of(told[-1:])}"


def _capped(run: Run) -> Iterator[str]:
    for what, (caps, prices) in CAPS.items():
        try:
            found = recap_run(run, caps=caps, prices=prices)
        except UsageError as err:
            yield f"{what}: {err} {err.hint}"
            continue
        for each in found.standings:
            told = text_of((each.scores, each.mean, each.interval, each.jobs))
            yield f"{what}: {each.rank} {each.group.trainer_id} {each.measure} {told}"
        yield f"{what}: {text_of(next(iter(found.jobs.values())))} {digest_of([*found.jobs.values()])}"
    for at in (1, 3):
        yield f"at {at}: {verdict_sentence(compare_runs([run], at=at))}"


def _page(run: Run) -> Iterator[str]:
    about = About("Title & all", "a task", ["a note"], [("trace-bench show <r>", "shows it")])
    page = render_story(
        run, compare_runs([run]), about, pictures={run.planned[0].job_id: {"c0": "<svg/>", "c2": b"png"}}
    )
    main = re.search(r"<main>(.*)</main>", page, re.DOTALL)
    yield from re.sub(
        r"(<h\d|<p|<li|<div|<figure|<script|<svg|<polygon|<text)", r"\n\1", main[1] if main else ""
    ).splitlines()


def curves() -> Said:
    """Return what is said now."""
    return said_of_each(RUNS, curves_of)
