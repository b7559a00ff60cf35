"""The comparison of trainers over runs: what `compare`, `report` and `verify` show, computed in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tracebench_analysis.comparison.budgets import (
    as_cap,
    mean_use,
    smallest_common_budget,
    total_proposals,
    uncapped_common_use,
)
from tracebench_analysis.comparison.order import Pair, in_order, lacks, ordered, tasks_of_table
from tracebench_analysis.comparison.outcomes import ENDED, FailurePolicy, Outcome, Outcomes, read_outcomes, unscored
from tracebench_analysis.comparison.pairing import Declared, Known, Two, meet
from tracebench_analysis.comparison.pooling import pooling_findings, refuse_demonstrations, refuse_unpoolable
from tracebench_analysis.comparison.verdicts import (
    ALPHA,
    Change,
    Comparison,
    PairVerdict,
    Standing,
    Summary,
    TaskComparison,
)
from tracebench_analysis.statistics.bootstrap import bootstrap_t_interval, iqm_interval
from tracebench_analysis.statistics.contrasts import contrast
from tracebench_analysis.statistics.differences import Difference, Scores
from tracebench_analysis.statistics.floor import REFERENCES, UNCHANGING, noise_floor, resolution_of
from tracebench_analysis.statistics.intervals import Interval
from tracebench_analysis.statistics.multiplicity import RankComparison, compare_ranks, holm
from tracebench_analysis.statistics.sequential import FIRST_LOOK, Looks, decide, plan_looks
from tracebench_core.errors import UsageError, quoted
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import Axis, Bounds, Budget, Gain
from tracebench_runs.events.ranking import FindAggregate, mean_alone
from tracebench_runs.reading.reader import Run


def compare_runs(
    runs: Sequence[Run],
    *,
    baseline: str | None = None,
    axis: Axis = "evaluations",
    at: float | None = None,
    policy: FailurePolicy = "initial",
    most_seeds: int | None = None,
    margin: float | None = None,
    find: FindAggregate = mean_alone,
) -> Comparison:
    """Compare all entrants of some runs, or each with a baseline: an entrant, or one of the runs.

    Jobs are cut at the smallest common budget (see `budgets`), or at `at` on `axis`. With `most_seeds` the pairs are judged as a
    sequential design that ends there (see `sequential`). `margin` is the difference that counts as none, on the scale of the pairs.
    `find` tells how a task makes one score of many.

    Raises:
        UsageError: when the runs cannot be pooled, only demonstrate their tasks, hold no job that ended, the baseline is none of them, or
            the margin is no size.
    """
    if margin is not None and not 0 < margin < math.inf:
        raise UsageError(f"`--margin {margin:g}`: a margin is a finite number above 0.", hint="--margin 0.02")
    if at is not None and not math.isfinite(at):
        raise UsageError(f"`--at {at:g}`: jobs are cut at a finite number.", hint="--at 20")
    refuse_demonstrations(runs)
    findings = pooling_findings(runs, axis=axis)
    refuse_unpoolable(findings)
    by_run = baseline is not None and len(runs) > 1 and any(run.run_id == baseline for run in runs)
    caps, why = _caps(runs, axis, at)
    outcomes = read_outcomes(runs, policy=policy, caps=caps, by_run=by_run, find=find)
    ended = {outcome.entrant for outcome in outcomes.outcomes if outcome.status in ENDED}
    if not ended:
        raise UsageError(
            "No job of these runs ended: there is nothing to compare.",
            hint=f"trace-bench resume {quoted(runs[0].layout.path)}",
        )
    by_entrant = {name: outcomes.of(name) for name in sorted(ended)}
    normalised = {name: outcomes.scores(name, normalised=True) for name in by_entrant}
    table = tasks_of_table(normalised, outcomes.tasks)
    chosen = [*_pairs([*by_entrant], outcomes, baseline, by_run=by_run)]
    declared = Declared(outcomes.targets, outcomes.bounds)
    known: Known = {}
    met = {
        pair: meet(*(by_entrant[name] for name in pair), policy=policy, declared=declared, known=known)
        for pair in chosen
    }
    pairs = [*_judged(met, None, _looks(most_seeds, len(chosen)), margin)]
    entrants = ordered(normalised, pairs, table)
    if baseline is None:
        met = in_order(met, entrants)
        found = {(p.one, p.other): p for p in pairs} | {(p.other, p.one): p.turned() for p in pairs}
        pairs = [found[pair] for pair in met if pair in found]
    whole = [name for name in entrants if not lacks(normalised[name], table)]
    raw = {name: outcomes.scores(name, normalised=False) for name in entrants}
    ranks = _ranks(whole, normalised, table)
    return Comparison(
        runs=tuple(run.run_id for run in runs),
        unfinished={run.run_id: n for run in runs if (n := sum(b.status == "not_run" for b in run.briefs.values()))},
        findings=tuple(findings),
        policy=policy,
        cut=caps,
        cut_why=why,
        baseline=baseline,
        outcomes=outcomes,
        tasks=tuple(_tasks(entrants, met, raw, outcomes)),
        summaries=tuple(_summaries(entrants, normalised, outcomes, ranks, table=table, whole=whole)),
        pairs=tuple(pairs),
        ranks=ranks,
        ranked=tuple(whole),
        floor=noise_floor(
            {name: normalised[name] for name in entrants},
            references=[n for n in entrants if n in REFERENCES or outcomes.keys[n].trainer_id == UNCHANGING],
        ),
        changes=tuple(_changes(chosen, outcomes)) if baseline is not None else (),
        margin=margin,
    )


def _caps(runs: Sequence[Run], axis: Axis, at: float | None) -> tuple[Budget | None, str]:
    if at is not None:
        return Budget.model_validate({axis: as_cap(axis, at)}), "as asked"
    if (common := smallest_common_budget(runs)) is not None:
        return common, "the smallest budget that all jobs had"
    if (used := uncapped_common_use(runs, axis)) is not None:
        return Budget.model_validate({axis: used}), "the smallest use of a trainer, no job having a cap"
    return None, ""


def _looks(most_seeds: int | None, pairs: int) -> Looks | None:
    """Return the plan of looks, its error shared out over the pairs (Bonferroni)."""
    if most_seeds is None:
        return None
    try:
        return plan_looks(most_seeds, alpha=ALPHA / max(1, pairs))
    except ValueError as err:
        raise UsageError(f"`--most-seeds {most_seeds}`: {err}.", hint=f"--most-seeds {FIRST_LOOK}") from err


def _pairs(entrants: Sequence[str], outcomes: Outcomes, baseline: str | None, *, by_run: bool) -> Iterator[Pair]:
    """Yield who is compared with whom: everyone with everyone, or each with the baseline."""
    if baseline is None:
        yield from combinations(entrants, 2)
    elif by_run:
        of_baseline = {outcomes.keys[e]._replace(run=""): e for e in entrants if outcomes.keys[e].run == baseline}
        for entrant in entrants:
            key = outcomes.keys[entrant]
            if key.run != baseline and (other := of_baseline.get(key._replace(run=""))) is not None:
                yield entrant, other
    elif baseline in entrants:
        yield from ((entrant, baseline) for entrant in entrants if entrant != baseline)
    else:
        raise UsageError(
            f"The baseline `{baseline}` is no entrant and none of the runs.{did_you_mean(baseline, entrants)}",
            hint=f"one of: {', '.join(entrants)}",
        )


def _tasks(
    entrants: Sequence[str], met: Mapping[Pair, Two], raw: Mapping[str, Scores], outcomes: Outcomes
) -> Iterator[TaskComparison]:
    by_task = {task: [*_verdicts(met, task, None, None)] for task in outcomes.tasks}
    adjusted = iter(holm([p.adjusted for verdicts in by_task.values() for p in verdicts]))
    for task, verdicts in by_task.items():
        judged = tuple(replace(verdict, adjusted=next(adjusted)) for verdict in verdicts)
        here = [o for o in outcomes.outcomes if o.task == task]
        bounds = outcomes.bounds.get(task, Bounds())
        by_entrant = {e: [o for o in here if o.entrant == e] for e in entrants}
        standings = [
            _standing(
                e, [[*raw[e].get(task, {}).values()] if any(o.score is not None for o in own) else []], own, bounds
            )
            for e, own in by_entrant.items()
        ]
        standings.sort(key=_height)
        yield TaskComparison(
            task,
            outcomes.measures[task],
            outcomes.anchors.get(task),
            tuple(standings),
            judged,
            _winner(standings, judged),
        )


def _verdicts(
    met: Mapping[Pair, Two], task: str | None, looks: Looks | None, margin: float | None
) -> Iterator[PairVerdict]:
    """Yield each pair that met, on one task or on all; `adjusted` and `equivalence` hold the probabilities as they are."""
    alpha = ALPHA / max(1, len(met))
    for (one, other), two in met.items():
        difference = two.difference(task)
        if difference is None or task in two.blank:
            continue
        resolution = resolution_of(difference.contrast, alpha=alpha)
        decision = decide(difference.contrast, looks, margin=margin) if looks is not None else None
        yield PairVerdict(
            one,
            other,
            difference,
            difference.probability,
            two.improvement(task),
            resolution,
            decision,
            against=_against(difference),
            equivalence=difference.contrast.equivalence(margin) if margin is not None and looks is None else None,
            measured=sum(two.measured[part.task] for part in difference.tasks),
        )


def _against(difference: Difference) -> tuple[str, ...]:
    """Return the tasks of several on which the difference points the other way than their mean, beyond doubt."""
    if len(difference.tasks) < 2:  # noqa: PLR2004 - one task disagrees with nobody
        return ()
    found = []
    for part in difference.tasks:
        alone = contrast([part], {})
        chance = None if alone is None else alone.probability
        if chance is not None and chance < ALPHA and part.estimate * difference.contrast.estimate <= 0:
            found.append(part.task)
    return tuple(found)


def _judged(
    met: Mapping[Pair, Two], task: str | None, looks: Looks | None, margin: float | None
) -> Iterator[PairVerdict]:
    found = [*_verdicts(met, task, looks, margin)]
    alike = holm([v.equivalence for v in found])
    for verdict, apart, within in zip(found, holm([v.adjusted for v in found]), alike, strict=True):
        yield replace(verdict, adjusted=apart, equivalence=within)


def _standing(entrant: str, strata: Sequence[Sequence[float]], outcomes: Sequence[Outcome], bounds: Bounds) -> Standing:
    filled = [s for s in strata if s]
    return Standing(
        entrant=entrant,
        interval=bootstrap_t_interval(filled).inside(bounds.minimum, bounds.maximum) if filled else None,
        counted=sum(o.value is not None for o in outcomes) if filled else 0,
        measured=sum(o.score is not None for o in outcomes),
        jobs=len(outcomes),
    )


def _winner(standings: Sequence[Standing], pairs: Sequence[PairVerdict]) -> str | None:
    """Return who is resolved better than each other entrant."""
    entrants = [s.entrant for s in standings]
    for entrant in entrants:
        beaten = {p.other for p in pairs if p.one == entrant and p.verdict == "better"}
        beaten |= {p.one for p in pairs if p.other == entrant and p.verdict == "worse"}
        if len(entrants) > 1 and beaten == {*entrants} - {entrant}:
            return entrant
    return None


def _summaries(
    entrants: Sequence[str],
    scores: Mapping[str, Scores],
    outcomes: Outcomes,
    ranks: RankComparison | None,
    *,
    table: Sequence[str],
    whole: Sequence[str],
) -> Iterator[Summary]:
    """Yield the entrants in their order: on the table's tasks those that have all, the others on what they have."""
    rank = dict(zip(whole, ranks.ranks, strict=True)) if ranks is not None else {}
    for entrant in entrants:
        own = outcomes.of(entrant)
        on = [t for t in (table if entrant in whole else outcomes.tasks) if scores[entrant].get(t)]
        strata = [[*scores[entrant][task].values()] for task in on]
        yield Summary(
            standing=_standing(entrant, strata, own, _bounds(on, outcomes)),
            iqm=iqm_interval(strata) if strata else None,
            gap=_gap(own, outcomes),
            failed=len(unscored(own)),
            use=mean_use(own),
            rank=rank.get(entrant),
            proposals=total_proposals(own),
            lacks=lacks(scores[entrant], table),
            of_tasks=len(table),
            content=_part([o for o in own if o.task in on], outcomes, lambda gain: gain.content),
            form=_part([o for o in own if o.task in on], outcomes, lambda gain: gain.form),
        )


def _bounds(tasks: Sequence[str], outcomes: Outcomes) -> Bounds:
    """Return between which the mean of some tasks' scores on the common scale lies, where all tasks say it."""
    sides: dict[str, float | None] = {}
    for side in ("minimum", "maximum"):
        known = [getattr(outcomes.bounds.get(task, Bounds()), side) for task in tasks]
        placed = [outcomes.anchors[t].normalise(v) for t, v in zip(tasks, known, strict=True) if v is not None]
        sides[side] = _mean(placed) if placed and len(placed) == len(tasks) else None
    return Bounds(minimum=sides["minimum"], maximum=sides["maximum"])


def _gap(outcomes: Sequence[Outcome], every: Outcomes) -> float | None:
    """Return the mean of gain on validation - gain on test on the common scale, each over the initial candidate; None without both."""
    gaps = []
    for outcome in outcomes:
        anchors = every.anchors.get(outcome.task)
        if anchors is not None and outcome.gap is not None:
            gaps.append(anchors.normalise(anchors.zero + outcome.gap))
    return math.fsum(gaps) / len(gaps) if gaps else None


def _part(outcomes: Sequence[Outcome], every: Outcomes, part: Callable[[Gain], float]) -> Interval | None:
    """Return a part of the gain of the jobs with a score on the common scale; None where one of them does not tell it."""
    by_task: dict[str, list[float]] = {}
    for outcome in outcomes:
        anchors = every.anchors.get(outcome.task)
        if outcome.score is None or anchors is None:
            continue
        if outcome.gain is None:
            return None
        by_task.setdefault(outcome.task, []).append(anchors.normalise(anchors.zero + part(outcome.gain)))
    return bootstrap_t_interval([*by_task.values()]) if by_task else None


def _height(standing: Standing) -> float:
    return -standing.interval.estimate if standing.interval is not None else math.inf


def _ranks(entrants: Sequence[str], scores: Mapping[str, Scores], tasks: Sequence[str]) -> RankComparison | None:
    """Rank the entrants that have every task of the table, by their means over seeds."""
    return compare_ranks([[_mean([*scores[e][task].values()]) for e in entrants] for task in tasks])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _changes(pairs: Sequence[Pair], outcomes: Outcomes) -> Iterator[Change]:
    """Yield the jobs that ended on another side than the baseline's: failed or not, better than the initial candidate or not."""
    by_place = {(o.entrant, o.task, o.seed): o for o in outcomes.outcomes if o.status in ENDED}
    for one, other in pairs:
        for outcome in outcomes.of(one):
            before = by_place.get((other, outcome.task, outcome.seed))
            if before is None or outcome.status not in ENDED:
                continue
            if (what := _what_changed(before, outcome)) is not None:
                yield Change(outcome.task, one, other, outcome.seed, what)


def _what_changed(before: Outcome, after: Outcome) -> str | None:
    if (before.score is None) != (after.score is None):
        return "now fails" if after.score is None else "now works"
    if before.score is None or after.score is None or before.initial is None or after.initial is None:
        return None
    was, is_now = before.score > before.initial, after.score > after.initial
    if was == is_now:
        return None
    return "now improves" if is_now else "no longer improves"
