"""Which questions two logs have in common, and what makes them no pair: other tasks, data sets, questions or metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tracebench_analysis.logs.rows import Log, Row, listed
from tracebench_core.errors import UsageError

Key = tuple[str, str]
Scored = Mapping[Key, Sequence[float]]
"""By question, the scores of its epochs."""


@dataclass(frozen=True, slots=True)
class Table:
    """One log's scores by one metric."""

    log: Log
    scores: Scored
    clusters: Mapping[Key, str]
    """By question; its own name where no field was asked for."""
    failed: int
    """Rows with an error in place of an answer, and no score."""
    unscored: int
    """Other rows without a score that is a number."""


def common_metric(logs: Sequence[Log], metric: str | None) -> str:
    """Return the metric to compare by: the one that was asked for, or the only one that all logs have.

    Raises:
        UsageError: there is none, or more than one and none was asked for.
    """
    sets = [log.metrics for log in logs]
    names = [name for name in sets[0] if all(name in other for other in sets[1:])]
    if metric is None and len(names) == 1:
        return names[0]
    if metric is not None:
        near = [name for name in names if metric in (name, name.partition(",")[0])]
        if metric in near or len(near) == 1:
            return metric if metric in near else near[0]
    each = "; ".join(f"`{log.label}`: {listed(log.metrics)}" for log in logs)
    if not names:
        raise UsageError(f"No metric is in all logs. {each}.", hint="compare logs that were scored alike")
    told = (
        "More than one metric is in all logs"
        if metric is None
        else f"No single metric of all logs is called `{metric}`"
    )
    raise UsageError(f"{told}: {listed(names)}.", hint=f"--metric {names[0]}")


def check_alike(logs: Sequence[Log]) -> None:
    """Make sure that logs can be of the same questions.

    Raises:
        UsageError: two are of other tasks or data sets, have no question in common, or ask something else by the same name.
    """
    for one, other in combinations(logs, 2):
        two = f"`{one.label}` and `{other.label}`"
        if one.tasks and other.tasks and not one.tasks & other.tasks:
            raise UsageError(
                f"{two} are of different tasks: {listed(sorted(one.tasks))} and {listed(sorted(other.tasks))}.",
                hint="compare logs of one task",
            )
        if one.dataset and other.dataset and one.dataset != other.dataset:
            raise UsageError(
                f"{two} are of different data sets: `{one.dataset}` and `{other.dataset}`.",
                hint="compare logs of one data set",
            )
        mine, theirs = _by_question(one), _by_question(other)
        common = [key for key in mine if key in theirs]
        if not common:
            raise UsageError(
                f"{two} have no question in common: {listed([q for _, q in mine])} against {listed([q for _, q in theirs])}.",
                hint="compare logs of the same samples",
            )
        changed = [
            key for key in common if mine[key].digest and theirs[key].digest and mine[key].digest != theirs[key].digest
        ]
        if changed:
            raise UsageError(
                f"{two} ask something else under the same id in {len(changed)} of {len(common)} questions, first in "
                f"`{changed[0][1]}`: another version of the data, or another order.",
                hint="compare logs of one version of the data set, in one order",
            )
        moved = [key for key in common if mine[key].cluster != theirs[key].cluster]
        if moved:
            raise UsageError(
                f"{two} put question `{moved[0][1]}` into different clusters.", hint="cluster by another field"
            )


def prompts_differ(one: Log, other: Log) -> tuple[int, int]:
    """Return in how many of the common questions the prompt differs, and how many of them tell."""
    mine, theirs = _by_question(one), _by_question(other)
    told = [
        (row.prompt, theirs[key].prompt)
        for key, row in mine.items()
        if key in theirs and row.prompt and theirs[key].prompt
    ]
    return sum(a != b for a, b in told), len(told)


def tabled(log: Log, metric: str) -> Table:
    """Return a log's scores by question.

    Raises:
        UsageError: a question has two rows of one epoch, or no row has a score.
    """
    scores: dict[Key, list[float]] = defaultdict(list)
    clusters: dict[Key, str] = {}
    seen: set[tuple[Key, int]] = set()
    failed = unscored = 0
    for row in log.rows:
        key = row.key
        if (key, row.epoch) in seen:
            raise UsageError(
                f"`{log.path}` has question `{row.question}` twice in epoch {row.epoch}.",
                hint="take one of the two out, or run it again",
            )
        seen.add((key, row.epoch))
        clusters[key] = row.cluster if row.cluster is not None else "\0".join(key)
        value = row.scores.get(metric)
        if value is not None:
            scores[key].append(value)
        elif row.is_failed:
            failed += 1
        else:
            unscored += 1
    if not scores:
        raise UsageError(f"No row of `{log.path}` has a number as `{metric}`.", hint="--metric NAME")
    return Table(log, scores, clusters, failed, unscored)


def _by_question(log: Log) -> dict[Key, Row]:
    return {row.key: row for row in log.rows}
