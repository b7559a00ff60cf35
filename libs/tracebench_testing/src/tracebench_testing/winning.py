"""Laws of the winner, held against the events of a trial: what was found is never thrown away, and more never makes it worse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tracebench_core.specs.events import CandidateSeen, Decision, EvaluationDone, Event, ExamplesKnown, Scored
from tracebench_engine.api.kit.jobs import FINALISTS, Standings
from tracebench_testing.trials import Trial

ROUNDING = 1e-9


def winners(events: Iterable[Event]) -> list[float]:
    """Return what the winner would have been worth, had training ended after each evaluation, the first one on.

    For tasks on which one example orders all candidates as any other does: what was measured of a candidate anywhere is its worth.
    """
    worth: dict[str, float] = {}
    standings, found = Standings(), []
    for event in events:
        standings.add(event)
        if isinstance(event, EvaluationDone) and event.by == "trainer":
            worth[event.candidate] = event.score
            known = [worth[id_] for id_ in standings.finalists(FINALISTS) if id_ in worth]
            found.append(max(known, default=-math.inf))
    return found


def worse_later(events: Iterable[Event]) -> str:
    """Return where a longer part of one sequence of measurements has a worse winner than a shorter one, or nothing."""
    best = -math.inf
    for n, worth in enumerate(winners(events), start=1):
        if worth < best - ROUNDING:
            return f"after {n} evaluations the winner is worth {worth:g}, and was worth {best:g} before"
        best = max(best, worth)
    return ""


def thrown_away(events: Sequence[Event]) -> str:
    """Return which candidate, the best that the trainer measured on a whole split, beats the winner on what decides, or nothing."""
    scored = [e for e in events if isinstance(e, Scored) and e.split != "test"]
    decided = {e.candidate: e.score for e in scored}
    best = next((e.score for e in scored if e.what == "best"), None)
    for name, candidate in _leaders(events).items():
        if candidate not in decided:
            return f"{candidate}, the best on all of {name}, was never measured on what decides"
        score = decided[candidate]
        if score is not None and (best is None or score > best + ROUNDING):
            return f"{candidate}, the best on all of {name}, scores {score:g} there, and the winner {best}"
    return ""


def worse_with_more(short: Trial, long: Trial) -> str:
    """Return how a larger budget made the winner worse, where the longer path begins as the shorter one went, or nothing."""
    path, further = _path(short), _path(long)
    less, more = short.score(), long.score()
    if further[: len(path)] != path or less is None or more is None or more >= less - ROUNDING:
        return ""
    return f"{len(path)} evaluations return a winner worth {less:g}, and {len(further)} that begin alike one worth {more:g}"


def _leaders(events: Sequence[Event]) -> dict[str, str]:
    """Return by split who measured best on all of it, of equals the first; who is rejected is none."""
    known = next(e for e in events if isinstance(e, ExamplesKnown))
    order = [e.id for e in events if isinstance(e, CandidateSeen)]
    verdicts = {e.candidate: e.verdict for e in events if isinstance(e, Decision) and e.verdict != "indecisive"}
    measured: dict[str, dict[str, float]] = {id_: {} for id_ in order}
    for event in events:
        if isinstance(event, EvaluationDone) and event.by == "trainer" and event.status == "ok":
            measured[event.candidate][event.example] = event.score
    found = {}
    for name, examples in (("validation", known.validation), ("train", known.train)):
        means = {
            id_: _mean(scores, examples)
            for id_, scores in measured.items()
            if examples and {*examples} <= scores.keys() and verdicts.get(id_) != "rejected"
        }
        if means:
            found[name] = max(means, key=means.__getitem__)
    return found


def _mean(scores: Mapping[str, float], examples: Sequence[str]) -> float:
    return math.fsum(scores[e] for e in examples) / len(examples)


def _path(trial: Trial) -> list[tuple[str, str, float]]:
    return [(e.candidate, e.example, e.score) for e in trial.evaluations]
