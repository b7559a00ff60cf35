"""Logs compared pair by pair on the questions that both answered: difference, interval, test, and how many questions would decide."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Literal

from tracebench_analysis.comparison.verdicts import ALPHA
from tracebench_analysis.logs.matching import Key, Table, check_alike, common_metric, prompts_differ, tabled
from tracebench_analysis.logs.rows import Log, labelled
from tracebench_analysis.statistics.contrasts import Contrast, contrast_task
from tracebench_analysis.statistics.floor import Resolution, resolution_of
from tracebench_analysis.statistics.intervals import (
    CONFIDENCE,
    LEAST,
    Interval,
    StandardError,
    mean_of_means,
    standard_error,
    variance,
)
from tracebench_analysis.statistics.multiplicity import holm
from tracebench_analysis.statistics.resolution import smallest_paired_difference
from tracebench_analysis.statistics.rounding import is_rounding, size_of
from tracebench_core.errors import UsageError
from tracebench_runs.results.student import quantile

Test = Literal["McNemar, exact", "paired t"]
FEW_CLUSTERS = 20
"""Clusters below which their standard error is itself too unsure to lean on (Cameron & Miller, 2015, J. Human Resources 50:317)."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One log by itself."""

    table: Table
    mean: float
    """Over its questions, each the mean of its epochs."""
    plain: float | None
    """Standard error as if every row were a question of its own."""
    clustered: float | None
    """Standard error with the rows of a question, or of a cluster of them, taken together."""
    rows: int
    """That have a score."""
    interval: Interval
    """95 % of the mean: Wilson's where every question is an independent right or wrong, else Student's over clusters."""


@dataclass(frozen=True, slots=True)
class PairOfLogs:
    """One log minus another on their common questions."""

    one: str
    other: str
    interval: Interval
    error: float | None
    """Standard error of the difference, paired and clustered."""
    unpaired: float | None
    """The standard error that the two logs' own plain ones give, which forgets that the questions are the same."""
    questions: int
    clusters: int
    only: tuple[int, int]
    """Questions with a score in one of the two alone."""
    won: int
    """Questions on which the first did better; lower, where that is better."""
    lost: int
    test: Test
    probability: float | None
    resolution: Resolution | None
    """Its `seeds_needed` counts questions."""
    epochs_needed: int | None
    """Epochs a question that would resolve the difference on these questions alone; None where none would, or nothing tells."""
    is_lower_better: bool
    adjusted: float | None = None
    """After Holm's correction over all pairs."""

    @property
    def verdict(self) -> str:
        """`better` and `worse` of the first, `same` where no question tells them apart, else `not resolved`."""
        if not self.interval.estimate and self.error == 0:
            return "same"
        if self.adjusted is None or self.adjusted >= ALPHA:
            return "not resolved"
        return "better" if (self.interval.estimate > 0) != self.is_lower_better else "worse"

    @property
    def more(self) -> int | None:
        """Further questions like these that would likely (80 %) decide, if the difference stays; None when decided, or above 100,000."""
        if self.verdict != "not resolved" or self.resolution is None or self.resolution.seeds_needed is None:
            return None
        return max(1, self.resolution.seeds_needed - self.questions)


@dataclass(frozen=True, slots=True)
class LogComparison:
    """All logs, best first, and all pairs of them."""

    metric: str
    cluster: str | None
    standings: tuple[Standing, ...]
    pairs: tuple[PairOfLogs, ...]
    remarks: tuple[str, ...]


def compare_logs(
    logs: Sequence[Log], *, metric: str | None = None, cluster: str | None = None, least: int = 2
) -> LogComparison:
    """Compare logs of the same questions.

    Args:
        logs: `least` or more, each of one model.
        metric: name of what is compared; needed where all logs have several.
        cluster: the field that they were read with, to be told.
        least: how many logs there must be; one alone has a standing and no pair.

    Raises:
        UsageError: they are fewer than `least`, cannot be matched, or have no such metric.
    """
    if len(logs) < least:
        raise UsageError(
            "A comparison takes two logs or more.", hint="trace-bench compare --inspect one.eval other.eval"
        )
    if not all(log.tasks for log in logs):  # a renamed file does not say its task: then none does
        logs = [replace(log, tasks=frozenset(), rows=[replace(r, task="") for r in log.rows]) for log in logs]
    found = labelled(logs)
    check_alike(found)
    name = common_metric(found, metric)
    tables = [tabled(log, name) for log in found]
    is_lower = any(name in log.lower_is_better for log in found)
    standings = sorted(map(_standing, tables), key=lambda s: s.mean, reverse=not is_lower)
    tests = len(tables) * (len(tables) - 1) // 2
    pairs = [
        _pair(one, other, alpha=ALPHA / max(1, tests), is_lower_better=is_lower)
        for one, other in combinations(standings, 2)
    ]
    adjusted = holm([pair.probability for pair in pairs])
    return LogComparison(
        name,
        cluster,
        tuple(standings),
        tuple(replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)),
        tuple(_remarks(found, standings, pairs)),
    )


def _standing(table: Table) -> Standing:
    means = {key: math.fsum(scores) / len(scores) for key, scores in table.scores.items()}
    rows = [score for scores in table.scores.values() for score in scores]
    plain = standard_error([rows])
    clustered = clustered_error([*means.values()], [table.clusters[key] for key in means])
    return Standing(
        table,
        mean_of_means([*table.scores.values()]),
        None if plain is None else plain.value,
        None if clustered is None else clustered.value,
        len(rows),
        _interval(
            [*means.values()],
            clustered,
            is_binary={*rows} <= {0.0, 1.0} and len(rows) == len({*table.clusters.values()}),
        ),
    )


def _interval(means: Sequence[float], error: StandardError | None, *, is_binary: bool) -> Interval:
    """Return the interval of a mean over questions; one that nothing told apart has no width only where scores are no counts."""
    n, mean = len(means), mean_of_means([[value] for value in means])
    if is_binary:
        z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
        middle, shrink = mean + z * z / (2 * n), 1 + z * z / n
        half = z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
        return Interval(mean, max(0.0, (middle - half) / shrink), min(1.0, (middle + half) / shrink), n)
    if error is None:
        return Interval(mean, None, None, n)
    half = quantile(0.5 + CONFIDENCE / 2, df=error.freedom) * error.value
    return Interval(mean, mean - half, mean + half, n)


def _pair(left: Standing, right: Standing, *, alpha: float, is_lower_better: bool) -> PairOfLogs:
    one, other = left.table, right.table
    common = [key for key in one.scores if key in other.scores]
    if not common:
        raise UsageError(
            f"`{one.log.label}` and `{other.log.label}` have no question with a score in both.",
            hint="compare logs of the same samples",
        )
    mine = {i: math.fsum(one.scores[key]) / len(one.scores[key]) for i, key in enumerate(common)}
    theirs = {i: math.fsum(other.scores[key]) / len(other.scores[key]) for i, key in enumerate(common)}
    clusters = [one.clusters[key] for key in common]
    count = len({*clusters})
    task = contrast_task("", mine, theirs)
    if count < len(common):
        error = clustered_error([mine[i] - theirs[i] for i in mine], clusters)
        task = replace(
            task,
            variance=None if error is None else error.value**2,
            freedom=count - 1,
            seeds=count,  # clusters are what is drawn
            dealings=2.0 ** min(count, 1000),
        )
    found = Contrast((task,), "own")
    higher, lower = sum(mine[i] > theirs[i] for i in mine), sum(mine[i] < theirs[i] for i in mine)
    won, lost = (lower, higher) if is_lower_better else (higher, lower)
    is_binary = count == len(common) and all(
        len(table.scores[key]) == 1 and table.scores[key][0] in (0.0, 1.0) for table in (one, other) for key in common
    )
    both = (left.plain, right.plain)
    return PairOfLogs(
        one=one.log.label,
        other=other.log.label,
        interval=found.interval(),
        error=found.error,
        unpaired=math.hypot(*(e for e in both if e is not None)) if None not in both else None,
        questions=len(common),
        clusters=count,
        only=(len(one.scores) - len(common), len(other.scores) - len(common)),
        won=won,
        lost=lost,
        test="McNemar, exact" if is_binary else "paired t",
        probability=mcnemar(won, lost) if is_binary else found.probability,
        resolution=_in_questions(resolution_of(found, alpha=alpha), len(common) / count),
        epochs_needed=_epochs_needed(found, one, other, common, alpha),
        is_lower_better=is_lower_better,
    )


def _in_questions(resolution: Resolution | None, each: float) -> Resolution | None:
    """Count the questions that are needed, where clusters of so many each are drawn."""
    if resolution is None or resolution.seeds_needed is None:
        return resolution
    return replace(resolution, seeds_needed=math.ceil(resolution.seeds_needed * each))


def _epochs_needed(found: Contrast, one: Table, other: Table, common: Sequence[Key], alpha: float) -> int | None:
    """Return how many epochs would take enough of the noise within questions out; that between questions stays."""
    if not found.error or any(len(t.scores[key]) < LEAST for t in (one, other) for key in common):
        return None
    n, drawn = len(common), found.tasks[0].seeds
    within = math.fsum(variance(t.scores[k]) / len(t.scores[k]) for t in (one, other) for k in common) / n
    unit = smallest_paired_difference(round(drawn), alpha=alpha)
    if unit is None or not within:
        return None
    unit *= math.sqrt(drawn / n)
    room = (found.estimate / unit) ** 2 - max(0.0, n * found.error**2 - within)
    epochs = math.fsum(len(t.scores[k]) for t in (one, other) for k in common) / (2 * n)
    return math.ceil(epochs * within / room) if room > 0 else None


def _remarks(logs: Sequence[Log], standings: Sequence[Standing], pairs: Sequence[PairOfLogs]) -> list[str]:
    """Return what a reader has to know before believing the table."""
    found = [remark for log in logs for remark in log.remarks]
    found += [
        f"`{t.log.label}`: {t.failed} rows with an error and {t.unscored} without a number as score are left out, not counted as 0."
        for t in (standing.table for standing in standings)
        if t.failed or t.unscored
    ]
    for pair in pairs:
        if any(pair.only):
            found.append(
                f"`{pair.one}` and `{pair.other}` share {pair.questions} scored questions; {pair.only[0]} of the first and "
                f"{pair.only[1]} of the second alone are left out of the pair."
            )
        if pair.clusters < min(pair.questions, FEW_CLUSTERS):
            found.append(
                f"`{pair.one}` and `{pair.other}`: {pair.clusters} clusters are few, and the test may reject too often."
            )
    for one, other in combinations(logs, 2):
        differ, told = prompts_differ(one, other)
        if differ:
            found.append(
                f"`{one.label}` and `{other.label}`: the prompt differs in {differ} of {told} questions (template, or examples): "
                "the difference is of model and prompt together."
            )
        if one.tasks != other.tasks:
            found.append(
                f"`{one.label}` and `{other.label}` share {len(one.tasks & other.tasks)} tasks; no other counts for the pair."
            )
    return found


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> StandardError | None:
    """Return the standard error of a mean, clusters being drawn; None for fewer than two clusters.

    sqrt(G / (G - 1) * sum over clusters of (sum of the deviations)^2) / n with G - 1 degrees of freedom: Miller (2024, arXiv:2411.00640,
    appendix A) with the correction for finitely many clusters. Where each value is its own cluster it is s / sqrt(n).
    """
    if (count := len({*clusters})) < LEAST:
        return None
    mean = math.fsum(values) / len(values)
    sums: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster].append(value - mean)
    size = size_of(values)
    off = [math.fsum(found) for found in sums.values()]
    if all(is_rounding(o, size=size) for o in off):
        return StandardError(0.0, count - 1)
    squares = math.fsum(o * o for o in off)
    return StandardError(math.sqrt(squares * count / (count - 1)) / len(values), count - 1)


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided probability of a split of the discordant pairs at least this uneven between equals: McNemar's exact test."""
    n, fewer = won + lost, min(won, lost)
    whole = math.lgamma(n + 1) - n * math.log(2)
    tail = math.fsum(math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)
