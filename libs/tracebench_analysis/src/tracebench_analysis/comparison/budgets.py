"""Equal use: the smallest budget that all compared jobs had, and where their use still differs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracebench_analysis.comparison.outcomes import ENDED, Outcome
from tracebench_analysis.estimates.amounts import AXES
from tracebench_analysis.statistics.floor import UNCHANGING
from tracebench_core.specs import Axis, Budget, ProposalCounts
from tracebench_runs.meta.planned import series_of
from tracebench_runs.reading.reader import Run

UNEQUAL = 1.1
"""Ratio of mean uses above which they are told to differ."""


@dataclass(frozen=True, slots=True)
class Use:
    """Mean use of one entrant on each axis; None where an amount is not known."""

    evaluations: float | None
    llm_calls: float | None
    tokens: float | None
    usd: float | None
    seconds: float | None


NOT_RUN_AGAIN = (
    "No job was run again for it: one whose trainer reads its budget might have gone another way under a smaller one."
)


def as_cap(axis: Axis, amount: float) -> float:
    """Return an amount as a cap on an axis: down to a whole number where the axis counts."""
    return amount if axis in {"usd", "seconds"} else math.floor(amount)


def smallest_common_budget(runs: Sequence[Run]) -> Budget | None:
    """Return the smallest cap of each axis that all jobs cap, where their caps differ; None where they are all the same."""
    budgets = {
        part.like.budget
        for run in runs
        for part in series_of(run.planned)
        if any(run.briefs[job_id].status in ENDED for job_id in part.ids)
    }
    cuts: dict[Axis, float] = {}
    for axis in AXES:
        caps = {getattr(budget, axis) for budget in budgets}
        known = [cap for cap in caps if cap is not None]
        if known and len(caps) > 1:
            cuts[axis] = min(known)
    return Budget.model_validate(cuts) if cuts else None


def uncapped_common_use(runs: Sequence[Run], axis: Axis) -> float | None:
    """Return the smallest of the trainers' largest uses where no job caps the axis and the uses differ; None elsewhere.

    The trainer that changes nothing needs no budget, and sets none; nor does a job that failed.
    """
    most: dict[str, float] = defaultdict(float)
    for run in runs:
        for part in series_of(run.planned):
            ended = [brief for job_id in part.ids if (brief := run.briefs[job_id]).status in ENDED]
            trainer = part.like.trainer_id
            if not ended or trainer == UNCHANGING:
                continue
            if part.like.budget.caps():
                return None
            uses = (getattr(brief.used, axis) or 0.0 for brief in ended if brief.status != "failed")
            most[trainer] = max(most[trainer], *uses, 0.0)
    used = [amount for amount in most.values() if amount > 0]
    return min(used) if used and max(used) > UNEQUAL * min(used) else None


def mean_use(outcomes: Iterable[Outcome]) -> Use:
    """Return the mean use per job that ended; an axis that any job does not know is not known."""
    ended = [outcome.used for outcome in outcomes if outcome.status in ENDED]
    means: dict[str, float | None] = {}
    for axis in AXES:
        amounts = [getattr(used, axis) for used in ended]
        known = [amount for amount in amounts if amount is not None]
        means[axis] = math.fsum(known) / len(known) if known and len(known) == len(amounts) else None
    return Use(**means)


def total_proposals(outcomes: Sequence[Outcome]) -> ProposalCounts:
    """Return what became of the proposals of all jobs together."""
    each = [outcome.proposals for outcome in outcomes]
    return ProposalCounts(**{name: sum(getattr(p, name) for p in each) for name in ProposalCounts.model_fields})


def unequal_uses(uses: Mapping[str, Use], axis: Axis) -> tuple[str, str, float] | None:
    """Return who used least and most of an axis, and the ratio, when it is told apart."""
    known = {name: amount for name, use in uses.items() if (amount := getattr(use, axis)) is not None}
    if not known or not all(known.values()):
        return None
    least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    ratio = known[most] / known[least]
    return (least, most, ratio) if ratio > UNEQUAL else None
