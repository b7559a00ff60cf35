"""A finished run as if its caps or prices had been different: every job again, and the leaderboard at that cap."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tracebench_analysis.whatif import Recap, Reprice, recap_job
from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import Budget, JobSpec, ModelIdentity, Price
from tracebench_core.specs.events import LLMCall
from tracebench_runs.events.ranking import FindAggregate, mean_alone
from tracebench_runs.reading.reader import Run
from tracebench_runs.results.rows import GroupKey, TaskKey, group_of
from tracebench_runs.results.student import interval

Measure = Literal["test", "validation", "best so far"]
MEASURES: tuple[tuple[Measure, Callable[[Recap], float | None]], ...] = (
    ("test", lambda recap: recap.score_test),
    ("validation", lambda recap: recap.score_val),
    ("best so far", lambda recap: recap.best_so_far),
)
"""In the order of preference."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One trainer on one task at the cap."""

    group: GroupKey
    rank: int | None
    measure: Measure
    scores: tuple[float, ...]
    jobs: int

    @property
    def mean(self) -> float | None:
        return math.fsum(self.scores) / len(self.scores) if self.scores else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None for fewer than two scores."""
        return interval(list(self.scores))


@dataclass(frozen=True, slots=True)
class RunRecap:
    """Every job that has a log, in plan order, and the leaderboard."""

    jobs: Mapping[str, Recap]
    standings: tuple[Standing, ...]


def recap_run(run: Run, *, caps: Budget, prices: Mapping[str, Price], find: FindAggregate = mean_alone) -> RunRecap:
    """Re-reduce a run under other caps and prices; `find` tells how a task makes one score of many.

    Raises:
        UsageError: for a price of a model that the run did not use, or a cap in USD where a call's price is not known.
    """
    _refuse_unused(prices, run.planned)
    recaps: dict[str, Recap] = {}
    for job in run.planned:
        events = run.events(job.job_id)
        if not events:
            continue
        reprice = _repricer(job, prices)
        if caps.usd is not None:
            _refuse_unpriced(events, reprice, job)
        recaps[job.job_id] = recap_job(events, run.results[job.job_id], caps=caps, reprice=reprice, find=find)
    return RunRecap(recaps, tuple(standings(run.planned, recaps)))


def standings(jobs: Sequence[JobSpec], recaps: Mapping[str, Recap]) -> list[Standing]:
    """Rank groups within their task on one measure: on test where every counted job of the task is known there, else on validation
    where every one is, else on what the trainers had measured. The three are never mixed. Equal means share a rank.
    """
    tasks: dict[TaskKey, dict[GroupKey, list[Recap]]] = {}
    for job in jobs:
        if job.job_id in recaps:
            group = group_of(job)
            tasks.setdefault(group.task, {}).setdefault(group, []).append(recaps[job.job_id])
    return [standing for groups in tasks.values() for standing in _ranked(groups)]


def _ranked(groups: Mapping[GroupKey, Sequence[Recap]]) -> list[Standing]:
    counted = {group: [r for r in recaps if r.status in {"ok", "timeout"}] for group, recaps in groups.items()}
    with_best = [r for recaps in counted.values() for r in recaps if r.best_candidate is not None]
    measure, score = next(
        ((name, read) for name, read in MEASURES if with_best and all(read(r) is not None for r in with_best)),
        MEASURES[-1],
    )
    means: dict[GroupKey, tuple[float, ...]] = {
        group: tuple(value for r in recaps if (value := score(r)) is not None) for group, recaps in counted.items()
    }
    order = sorted((g for g, s in means.items() if s), key=lambda g: -math.fsum(means[g]) / len(means[g]))
    ranked: list[Standing] = []
    for position, group in enumerate(order, start=1):
        standing = Standing(group, position, measure, means[group], len(groups[group]))
        if ranked and ranked[-1].mean == standing.mean:
            standing = Standing(group, ranked[-1].rank, measure, means[group], len(groups[group]))
        ranked.append(standing)
    return ranked + [Standing(g, None, measure, (), len(groups[g])) for g, s in means.items() if not s]


def _repricer(job: JobSpec, prices: Mapping[str, Price]) -> Reprice:
    from tracebench_runs.prices import PriceTable  # noqa: PLC0415 - reading a run asks no price

    table = PriceTable(prices)

    def reprice(call: LLMCall) -> float | None:
        identity = job.models.get(call.role)
        if call.cached or identity is None or not _names(identity) & prices.keys():
            return call.usd
        return table.usd(
            identity, prompt=call.prompt_tokens, completion=call.completion_tokens, cached=call.cached_tokens
        )

    return reprice


def _refuse_unused(prices: Mapping[str, Price], jobs: Sequence[JobSpec]) -> None:
    used = {name: None for job in jobs for identity in job.models.values() for name in sorted(_names(identity))}
    for name in prices:
        if name not in used:
            raise UsageError(
                f"The run used no model `{name}`.{did_you_mean(name, used)}",
                hint=f"its models: {', '.join(used) or 'none'}",
            )


def _refuse_unpriced(events: Sequence[object], reprice: Reprice, job: JobSpec) -> None:
    for event in events:
        if isinstance(event, LLMCall) and event.status == "ok" and reprice(event) is None:
            raise UsageError(
                f"Job `{job.job_id}` called `{event.model}`, whose price is unknown: a cap in USD cannot be applied.",
                hint="trace-bench recap … --prices FILE",
            )


def _names(identity: ModelIdentity) -> set[str]:
    return {identity.model, f"{identity.provider}/{identity.model}"}
