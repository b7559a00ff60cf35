"""What a submission has to keep: laws over one job's sealed result and events, each with the words in which it is broken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, variance

from tracebench_core.specs import JobResult, JobSpec
from tracebench_core.specs.events import EvaluationDone, Event, Scored
from tracebench_engine.api.analysis import student_cdf
from tracebench_testing.winning import thrown_away

WELL_HELD = "strong"
SPOILT = ("unequal-budget", "order-dependent-winner", "self-reported")
"""Flags of a job that keep it off a page of results."""
ALARM = 1e-4
"""A mean that an equal of the best reference reaches more seldom than this is looked at by a person."""
ROUNDING = 1e-9


def budget(job: JobSpec, result: JobResult) -> Iterator[str]:
    """The job had a cap on calls, tokens or USD, and kept every cap."""
    caps = {axis: cap for axis, cap in job.budget.model_dump().items() if axis != "strict" and cap is not None}
    if not {"llm_calls", "tokens", "usd"} & caps.keys():
        yield "it has no cap on calls, tokens or USD"
    for axis, cap in caps.items():
        used = getattr(result.used, axis) or 0
        if used > cap + ROUNDING and axis != "seconds":  # what runs when time is over ends a little later
            yield f"it used {used:g} {axis.replace('_', ' ')} of {cap:g}"


def winner(events: Sequence[Event]) -> Iterator[str]:
    """The winner is the best on what decides, and nobody looked at the test before."""
    if words := thrown_away(events):
        yield f"its winner is not the best that it found: {words}"
    decided = [e for e in events if isinstance(e, Scored) and e.split != "test" and e.score is not None]
    best = [e.score for e in decided if e.what == "best" and e.score is not None]
    better = [e for e in decided if e.what == "finalist" and best and (e.score or 0.0) > best[0] + ROUNDING]
    if better:
        yield f"{better[0].candidate} was better than the winner on what decides"
    if any(isinstance(e, EvaluationDone) and e.by == "trainer" and e.split == "test" for e in events):
        yield "the trainer measured on the test"


def protection(job: JobSpec, result: JobResult, *, runs_code: bool) -> Iterator[str]:
    """Code of candidates ran in the strong sandbox, a model was asked for real, and no score is a candidate's own word."""
    held = str(result.versions.get("isolation", ""))
    if runs_code and held != WELL_HELD:
        yield f"its candidates ran under `{held or 'no'}` isolation, not `{WELL_HELD}`"
    if job.mode != "real":
        yield f"it is of mode `{job.mode}`"
    if result.self_reported:
        yield f"its candidates reported {', '.join(result.self_reported)} themselves"
    yield from (f"it is flagged `{flag}`: {result.flags[flag]}" for flag in SPOILT if flag in result.flags)


def calibration(result: JobResult, *, has_cases: bool) -> Iterator[str]:
    """The task was calibrated on the machine that measured."""
    if has_cases and result.calibration != "here":
        yield f"its task was calibrated {result.calibration or 'nowhere that is told'}, not on the machine that measured"


def possible(result: JobResult, bounds: Mapping[str, float | None]) -> Iterator[str]:
    """No score is beyond what the task declares possible."""
    for name in ("score_val_best", "score_test"):
        score = getattr(result, name)
        low, high = bounds.get("minimum"), bounds.get("maximum")
        if score is not None and not (
            math.isfinite(score)
            and (low is None or score >= low - ROUNDING)
            and (high is None or score <= high + ROUNDING)
        ):
            yield f"its {name} is {score:g}, beyond what the task declares possible"


def too_good(own: Sequence[float], references: Mapping[str, Sequence[float]]) -> str:
    """Return why some scores are better than the best reference's own spread allows, or nothing.

    Welch's test between the mean and that of the best reference of the same task under the same caps; a reference that never varies
    gives the alarm for whatever is above it.
    """
    known = {name: scores for name, scores in references.items() if len(scores) > 1}
    if not own or not known:
        return ""
    name = max(known, key=lambda n: fmean(known[n]))
    best, mean = known[name], fmean(own)
    gap = mean - fmean(best)
    size = max(map(abs, (*own, *best)))
    spread = [variance(best) / len(best), variance(own) / len(own) if len(own) > 1 else variance(best)]
    total = math.fsum(spread)
    if gap <= ROUNDING * size:
        return ""
    chance = (
        0.0 if total <= (ROUNDING * size) ** 2 else 1 - student_cdf(gap / math.sqrt(total), df=max(1, len(best) - 1))
    )
    if chance >= ALARM:
        return ""
    known_as = f"that of the best reference, {name}, {fmean(best):.6g}"
    return f"its mean is {mean:.6g}, {known_as}; an equal of it comes out so far ahead with p = {chance:.1g}"
