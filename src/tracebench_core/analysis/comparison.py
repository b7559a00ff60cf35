"""The comparison of trainers over runs: what `compare`, `report` and `verify` show, computed in one place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tracebench_core.analysis.bootstrap import bootstrap_t_interval, iqm_interval
from tracebench_core.analysis.budgets import mean_use, smallest_common_budget, total_proposals, uncapped_common_use
from tracebench_core.analysis.differences import Scores, compare_scores, probability_of_improvement
from tracebench_core.analysis.floor import noise_floor, resolution_of
from tracebench_core.analysis.intervals import mean_of_means
from tracebench_core.analysis.multiplicity import RankComparison, compare_ranks, holm
from tracebench_core.analysis.outcomes import ENDED, FailurePolicy, Outcome, Outcomes, read_outcomes
from tracebench_core.analysis.pooling import pooling_findings, refuse_demonstrations, refuse_unpoolable
from tracebench_core.analysis.sequential import FIRST_LOOK, Looks, decide, plan_looks
from tracebench_core.analysis.verdicts import ALPHA, Change, Comparison, PairVerdict, Standing, Summary, TaskComparison
from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import Axis, Budget
from tracebench_core.store.ranking import FindAggregate, mean_alone
from tracebench_core.store.reader import Run

Pair = tuple[str, str]


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
    sequential design that ends there (see `sequential`), `margin` being the difference that counts as none.
    `find` tells how a task makes one score of many.

    Raises:
        UsageError: when the runs cannot be pooled, only demonstrate their tasks, hold no job that ended, or the baseline is none of them.
    """
    refuse_demonstrations(runs)
    findings = pooling_findings(runs, axis=axis)
    refuse_unpoolable(findings)
    by_run = baseline is not None and len(runs) > 1 and any(run.run_id == baseline for run in runs)
    caps, why = _caps(runs, axis, at)
    outcomes = read_outcomes(runs, policy=policy, caps=caps, by_run=by_run, find=find)
    ended = {outcome.entrant for outcome in outcomes.outcomes if outcome.status in ENDED}
    if not ended:
        raise UsageError(
            "No job of these runs ended: there is nothing to compare.", hint=f"trace-bench resume {runs[0].layout.path}"
        )
    normalised = {name: outcomes.scores(name, normalised=True) for name in ended}
    entrants = sorted(ended, key=lambda name: (_height_of(normalised[name]), name))
    raw = {name: outcomes.scores(name, normalised=False) for name in entrants}
    chosen = [*_pairs(entrants, outcomes, baseline, by_run=by_run)]
    looks = _looks(most_seeds, len(chosen))
    ranks = _ranks(entrants, normalised, outcomes.tasks)
    return Comparison(
        runs=tuple(run.run_id for run in runs),
        unfinished={run.run_id: n for run in runs if (n := sum(r.status == "not_run" for r in run.results.values()))},
        findings=tuple(findings),
        policy=policy,
        cut=caps,
        cut_why=why,
        baseline=baseline,
        outcomes=outcomes,
        tasks=tuple(_tasks(entrants, chosen, raw, outcomes)),
        summaries=tuple(_summaries(entrants, normalised, outcomes, ranks)),
        pairs=tuple(_judged(chosen, normalised, looks, margin)),
        ranks=ranks,
        ranked=tuple(entrants),
        floor=noise_floor({name: normalised[name] for name in entrants}),
        changes=tuple(_changes(chosen, outcomes)) if baseline is not None else (),
    )


def _caps(runs: Sequence[Run], axis: Axis, at: float | None) -> tuple[Budget | None, str]:
    if at is not None:
        return Budget.model_validate({axis: at}), "as asked"
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
    entrants: Sequence[str], pairs: Sequence[Pair], raw: Mapping[str, Scores], outcomes: Outcomes
) -> Iterator[TaskComparison]:
    by_task = {
        task: [*_verdicts(pairs, {e: {task: raw[e][task]} if task in raw[e] else {} for e in entrants}, None, None)]
        for task in outcomes.tasks
    }
    adjusted = iter(holm([p.adjusted for verdicts in by_task.values() for p in verdicts]))
    for task, verdicts in by_task.items():
        judged = tuple(_with_adjusted(verdict, next(adjusted)) for verdict in verdicts)
        here = [o for o in outcomes.outcomes if o.task == task]
        standings = [
            _standing(e, [[*raw[e].get(task, {}).values()]], [o for o in here if o.entrant == e]) for e in entrants
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
    pairs: Sequence[Pair], scores: Mapping[str, Scores], looks: Looks | None, margin: float | None
) -> Iterator[PairVerdict]:
    """Yield each pair that has a task and seed in common; `adjusted` holds the probability as it is."""
    alpha = ALPHA / max(1, len(pairs))
    for one, other in pairs:
        difference = compare_scores(scores[one], scores[other])
        if difference is None:
            continue
        chance = probability_of_improvement(scores[one], scores[other])
        resolution = resolution_of(difference.pairs, difference=difference.interval.estimate, alpha=alpha)
        decision = decide(difference.pairs, looks, margin=margin) if looks is not None else None
        yield PairVerdict(one, other, difference, difference.probability, chance, resolution, decision)


def _judged(
    pairs: Sequence[Pair], scores: Mapping[str, Scores], looks: Looks | None, margin: float | None
) -> Iterator[PairVerdict]:
    found = [*_verdicts(pairs, scores, looks, margin)]
    for verdict, probability in zip(found, holm([v.adjusted for v in found]), strict=True):
        yield _with_adjusted(verdict, probability)


def _with_adjusted(verdict: PairVerdict, probability: float | None) -> PairVerdict:
    return replace(verdict, adjusted=probability)


def _standing(entrant: str, strata: Sequence[Sequence[float]], outcomes: Sequence[Outcome]) -> Standing:
    filled = [s for s in strata if s]
    return Standing(
        entrant=entrant,
        interval=bootstrap_t_interval(filled) if filled else None,
        counted=sum(o.value is not None for o in outcomes),
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
    entrants: Sequence[str], scores: Mapping[str, Scores], outcomes: Outcomes, ranks: RankComparison | None
) -> list[Summary]:
    found = []
    for position, entrant in enumerate(entrants):
        own = outcomes.of(entrant)
        strata = [[*seeds.values()] for seeds in scores[entrant].values()]
        found.append(
            Summary(
                standing=_standing(entrant, strata, own),
                iqm=iqm_interval(strata) if strata else None,
                gap=_gap(own, outcomes),
                failed=sum(o.status in ENDED and o.score is None for o in own),
                use=mean_use(own),
                rank=ranks.ranks[position] if ranks is not None else None,
                proposals=total_proposals(own),
            )
        )
    return sorted(found, key=lambda summary: _height(summary.standing))


def _gap(outcomes: Sequence[Outcome], every: Outcomes) -> float | None:
    """Return the mean of gain on validation - gain on test on the common scale, each over the initial candidate; None without both."""
    gaps = []
    for outcome in outcomes:
        anchors = every.anchors.get(outcome.task)
        if anchors is not None and outcome.gap is not None:
            gaps.append(anchors.normalise(anchors.zero + outcome.gap))
    return math.fsum(gaps) / len(gaps) if gaps else None


def _height_of(scores: Scores) -> float:
    return -mean_of_means([[*seeds.values()] for seeds in scores.values()]) if scores else math.inf


def _height(standing: Standing) -> float:
    return -standing.interval.estimate if standing.interval is not None else math.inf


def _ranks(entrants: Sequence[str], scores: Mapping[str, Scores], tasks: Sequence[str]) -> RankComparison | None:
    """Rank the entrants on the tasks on which each has a score, by their means over seeds."""
    common = [task for task in tasks if all(scores[e].get(task) for e in entrants)]
    return compare_ranks([[_mean([*scores[e][task].values()]) for e in entrants] for task in common])


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
