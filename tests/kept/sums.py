"""What the statistics and the estimates come to for small figures: each interval, test, plan, curve and amount in a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.kept.store import Said, said_of_each
from tests.kept.stored import JOBS, made
from tests.kept.text import digest_of, text_of
from tests.unit.analysis.logged import make_logged
from tests.unit.analysis.test_estimate import PRICES, job, known
from tracebench_analysis.estimates.amounts import AXES, Amounts, Estimate, total
from tracebench_analysis.estimates.estimate import Estimator, estimate_run, too_few_proposals
from tracebench_analysis.estimates.history import (
    CallCost,
    Caller,
    History,
    Kind,
    WorkDone,
    range_of,
    read_history,
    settings_key,
)
from tracebench_analysis.statistics.anchors import find_anchors
from tracebench_analysis.statistics.bootstrap import (
    bootstrap_t_interval,
    interquartile_mean,
    iqm_interval,
)
from tracebench_analysis.statistics.contrasts import contrast, contrast_task
from tracebench_analysis.statistics.curves import Curve, area, band, grid, performance_profile, reached_share
from tracebench_analysis.statistics.differences import compare_scores, probability_of_improvement
from tracebench_analysis.statistics.floor import noise_floor, resolution_of
from tracebench_analysis.statistics.intervals import Interval, mean_of_means, standard_error, t_interval, variance
from tracebench_analysis.statistics.multiplicity import chi_squared_tail, compare_ranks, holm, ranked, studentised_range
from tracebench_analysis.statistics.resolution import (
    paired_seeds_to_resolve,
    pooled_spread,
    seeds_to_resolve,
    smallest_difference,
    smallest_paired_difference,
)
from tracebench_analysis.statistics.rounding import is_rounding, rounding_of, settled, size_of
from tracebench_analysis.statistics.sequential import decide, plan_looks
from tracebench_core.specs import Budget, CostEstimate, Price, Range
from tracebench_runs.meta.planned import PlannedJobs, changed_kinds, chosen_of, ids_of, read_jobs
from tracebench_runs.prices import PriceTable
from tracebench_runs.results.student import cdf, interval, quantile

SEEDS: Mapping[str, Mapping[int, float]] = {
    "rising": {0: 0.1, 1: 0.25, 2: 0.3, 3: 0.55}, "level": {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2}, "higher": {0: 0.6, 1: 0.8, 2: 0.75, 3: 1.1},
    "apart by one": {0: 1.1, 1: 1.25, 2: 1.3, 3: 1.55}, "others": {2: 0.5, 3: 0.25, 4: 0.75, 5: 0.0, 6: 0.125},
    "elsewhere": {7: 0.5, 8: 0.25},
    "alone": {0: 0.4}, "long": {n: (n % 5) / 4 for n in range(12)},
}  # fmt: skip
STRATA = (
    [[0.1, 0.25, 0.3, 0.55]],
    [[0.2, 0.2, 0.2]],
    [[0.1]],
    [[0.1, 0.4], [0.9, 1.0, 0.2]],
    [[0.5], [0.25, 0.75]],
    [[0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.25, 0.75]],
)


def _told(name: str, *values: Any) -> str:
    return f"{name}: {' '.join(map(text_of, values))}"


def _said(name: str, make: Callable[[], Any]) -> str:
    try:
        return f"{name}: {text_of(make())}"
    except (ValueError, ArithmeticError) as err:
        return f"{name}: {type(err).__name__}: {err}"


def _pairs(folder: Path) -> Iterator[str]:
    for (a, one), (b, other) in combinations(SEEDS.items(), 2):
        task = contrast_task("t", one, other)
        yield f"{a} and {b}: {text_of(task)}"
        for words, spans, widths in (
            ("own", {}, {"t": 2.0}),
            ("fixed", {"t": 2.0, "u": 4.0}, {"t": 3.0, "u": 1.0}),
            ("standardised", {}, {}),
        ):
            parts = (
                [task]
                if words == "own"
                else [task, contrast_task("u", other, one if words == "fixed" else SEEDS["rising"])]
            )
            found = contrast(parts, spans, widths=widths)
            assert found is not None
            told = (
                found.estimate,
                found.error,
                found.freedom,
                found.observed,
                found.seeds,
                found.probability,
                found.reach,
            )
            yield f"  {words}: {text_of(told)} {text_of(found.interval())} {text_of(found.elsewhere(confidence=0.9))} {found.scale}"
            alike = [found.equivalence(m) for m in (0.05, 0.5, 2.0)]
            yield _told(f"  {words}", alike, digest_of(found.turned()), resolution_of(found))
            for most in (6, 20):
                for margin in (None, 0.4):
                    yield f"  {words}, looks to {most}, margin {margin}: {text_of(decide(found, plan_looks(most), margin=margin))}"
    yield f"none: {contrast([], {})}"
    scores = {name: {"x": dict(seeds), "y": dict(SEEDS["rising"])} for name, seeds in SEEDS.items()}
    for a, b in combinations(("rising", "higher", "others", "alone"), 2):
        two = scores[a], scores[b]
        yield _told(f"scores of {a} and {b}", compare_scores(*two), probability_of_improvement(*two))
    yield f"floor: {text_of(noise_floor({**scores, 'NoOp': scores['level']}))} {text_of(noise_floor({'a': {'x': {0: 1.0}}}))}"


def _samples(folder: Path) -> Iterator[str]:
    for strata in STRATA:
        for name, make in {
            "mean": mean_of_means, "error": standard_error, "t": t_interval, "bootstrap t": bootstrap_t_interval, "iqm": iqm_interval,
            "90 %": lambda s: t_interval(s, confidence=0.9),
        }.items():  # fmt: skip
            yield _said(f"{name} of {strata}", lambda make=make, strata=strata: make(strata))
        flat = [value for part in strata for value in part]
        yield _told(
            "iqm and spread", interquartile_mean(flat), pooled_spread(strata), variance(flat) if len(flat) > 1 else None
        )
        yield _told("student", interval(flat), interval(flat, confidence=0.5), settled(flat, size=size_of(flat)))
    for at in (Interval(0.5, 0.25, 0.75, 4), Interval(-0.5, None, None, 2), Interval(0.0, -0.25, 0.25, 3)):
        yield _told(
            "interval",
            at.excludes(0),
            at.excludes(0.25),
            [at.lies_within(m) for m in (0.25, 0.5, 0.75, 1)],
            at.turned(),
        )
        yield f"inside: {[text_of(at.inside(*edge)) for edge in ((None, None), (0.3, 0.6), (-0.1, 0.1))]}"
    for df in (1, 2, 3, 4, 5, 30, 399, 400, 401, 1000):
        quantiles = [quantile(p, df=df) for p in (0.025, 0.5, 0.9, 0.999)]
        yield _told(f"t of {df}", [cdf(t, df=df) for t in (-2.0, 0.5, 3.0)], quantiles)
    for p, df in ((0.0, 3), (1.0, 3), (0.5, 0)):
        yield _said(f"quantile {p} {df}", lambda p=p, df=df: quantile(p, df=df))
    for seeds in (1, 2, 3, 5, 20):
        paired = smallest_paired_difference(seeds, alpha=0.01)
        yield _told(f"{seeds} seeds", smallest_difference(seeds), smallest_difference(seeds, power=0.5), paired)
    for difference in (0.0, 1e-4, 0.1, 0.5, 1.0, 3.0):
        yield _said(
            f"a difference of {difference}", lambda d=difference: (seeds_to_resolve(d), paired_seeds_to_resolve(d))
        )
    for size in (0.0, 1.0, 1e6):
        edges = [is_rounding(rounding_of(size) * part, size=size) for part in (0.5, 1.0, 1.5)]
        yield _told(f"rounding at {size}", rounding_of(size), edges)


def _families(folder: Path) -> Iterator[str]:
    for chances in ([], [0.01], [0.01, 0.04, 0.03], [0.5, None, 0.02], [None], [0.2, 0.2, 0.9, 0.001]):
        yield f"holm {chances}: {text_of(holm(chances))}"
    for scores in ([1.0], [1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [2.0, 2.0, 2.0, 1.0]):
        yield f"ranked {scores}: {text_of(ranked(scores))}"
    for table in (
        [],
        [[1.0, 2.0]],
        [[1.0, 2.0, 3.0]] * 4,
        [[1.0, 1.0]] * 3,
        [[3.0, 1.0, 2.0], [2.0, 1.0, 2.0], [9.0, 0.0, 5.0]],
        [[1.0], [2.0]],
    ):
        yield f"ranks {table}: {text_of(compare_ranks(table))} {text_of(compare_ranks(table, alpha=0.1))}"
    yield f"range: {text_of([studentised_range(p, groups=g) for p in (0.9, 0.95) for g in (2, 3, 10)])}"
    yield f"tail: {text_of([chi_squared_tail(x, df=df) for x in (0.0, 0.5, 7.0, 60.0) for df in (1, 2, 5, 10)])}"
    for initial, scores, target in (
        ([0.5], [0.7, 0.9], None),
        ([0.5, 0.3], [0.2], None),
        ([], [0.2], None),
        ([0.5], [0.7], 2.0),
        ([0.5], [0.7], 0.1),
        ([], [], 1.0),
    ):
        anchors = find_anchors(initial, scores, target=target)
        placed = None if anchors is None else [anchors.normalise(s) for s in (0.0, 0.5, 1.0)]
        yield _told(f"anchors {initial} {scores} {target}", anchors, placed)
    curves = [
        Curve((1.0, 3.0), (0.5, 1.0), 4.0),
        Curve((2.0,), (0.25,), 2.0),
        Curve((0.0, 1.0, 2.0), (0.0, 0.25, 0.75), 8.0),
    ]
    for curve in curves:
        yield f"curve: {[curve.at(x) for x in (0.0, 0.5, 1.0, 3.0, 9.0)]} {[curve.reached(y) for y in (0.0, 0.5, 0.75, 2.0)]}"
        yield f"area: {text_of([area(curve, most=most, initial=-1.0) for most in (0.0, 0.5, 1.0, 2.5, 8.0)])}"
    yield f"grid: {grid(curves, points=4)} {grid([], points=2)} {grid(curves, points=2, most=1.0)} {len(grid(curves))}"
    yield f"band: {text_of(band([curves[:2], curves[2:]], [1.0, 2.0, 3.0, 8.0]))} {band([], [1.0])}"
    targets = [[0.5, 1.0], [0.25], [0.75, 9.0]]
    yield _told("reached", reached_share(curves, targets, [0.0, 1.0, 2.0, 3.0]), reached_share([], [], [1.0]))
    yield f"profile: {text_of(performance_profile([[0.1, 0.5], [0.9]], [0.0, 0.1, 0.5, 1.0]))}"


def _estimates(folder: Path) -> Iterator[str]:
    some = Amounts(evaluations=10, llm_calls=4, tokens=400, usd=2.0, seconds=50)
    start = Amounts(evaluations=2, llm_calls=0, tokens=0, usd=0.0, seconds=10)
    caps = (
        Budget(), Budget(evaluations=5), Budget(evaluations=10), Budget(evaluations=20), Budget(usd=0.5, seconds=40), Budget(evaluations=1),
        Budget(llm_calls=0), Budget(tokens=300, evaluations=9),
    )  # fmt: skip
    for cap in caps:
        yield _told(f"cut by {cap.caps()}", some.cut(cap), some.cut(cap, start=start), some.extended(cap, start=start))
    unknown = Amounts(evaluations=3.0)
    yield _told("unknown", unknown.plus(some), unknown.scaled(2), total([some, some]), some.joined(unknown, max))
    on = [Estimate(some, start, unknown).on(axis) for axis in AXES]
    yield _told("on", on, Estimate(some, start, some).each(lambda amounts: amounts.scaled(3)))
    history = History()
    history.calls[Caller("s:t", "T", "optimizer", "a-model")] = [CallCost(100, 10, 20, 0.5), CallCost(300, 30, 60, 1.5)]
    history.program_calls[Kind("s:t", "T", "real")] = [2.0, 4.0]
    history.evaluation_seconds["s:t", "real"] = [2.0, 3.0]
    history.done[settings_key(job())] = [WorkDone(30, 7), WorkDone(36, 9), WorkDone(90, 1, is_complete=False)]
    to_cap = CostEstimate(
        evaluations=Range(low=4, likely=20, high=40), llm_calls=Range(low=1, likely=5, high=9), start=4, to_cap=True
    )
    jobs: Mapping[str, tuple[Any, Any]] = {
        "plain": (job(), known()), "asking": (job(), known(uses_model=True, scoring=Range(low=2, likely=4, high=8))),
        "capped": (job(budget=Budget(usd=0.004)), known()), "capped by calls": (job(budget=Budget(llm_calls=2, evaluations=30)),
        known(uses_model=True)),
        "to its cap": (job(budget=Budget(evaluations=100)), known(cost=to_cap)),
        "to its money": (job(budget=Budget(usd=0.05)), known(cost=to_cap)),
        "nothing declared": (job(budget=Budget(evaluations=9, llm_calls=3)), known(cost=None)),
        "stub": (job(mode="stub"), known(uses_model=True)),
        "timed": (job(timeout=3.0, budget=Budget(seconds=9.0)), known()),
        "timed later": (job(timeout=30.0, budget=Budget(seconds=9.0)), known()),
    }  # fmt: skip
    for words, past, prices in (("new", History(), PRICES), ("old", history, PRICES), ("unpriced", history, {})):
        estimator = Estimator(past, PriceTable(prices), eval_workers=2, scoring_budget=Budget(llm_calls=3))
        found = {name: estimator.job(spec, what) for name, (spec, what) in jobs.items()}
        for name, told in found.items():
            yield f"{words}, {name}: {text_of(told)} few {too_few_proposals(told)}"
        for budget, workers in ((Budget(), 1), (Budget(usd=0.1), 3), (Budget(seconds=10), 99)):
            run = estimate_run(found, run_budget=budget, workers=workers)
            yield f"{words}, run at {workers}: {text_of(run.amounts)} {run.cut_by}"
    yield f"of nothing: {text_of(estimate_run({}, run_budget=Budget(), workers=2).amounts)} {range_of([])} {text_of(range_of([1, 4]))}"
    run_ = make_logged(folder / "runs/one", lambda trainer, task, seed: (0.5, 0.75, 1.0 + seed))
    told_ = read_history(folder / "runs", run_.planned[:1])
    yield _told("history", told_.jobs, dict(told_.calls), dict(told_.evaluation_seconds), dict(told_.program_calls))
    yield f"history: {text_of([*told_.done.values()])} {text_of([[*groups.values()] for groups in told_.scores.values()])}"
    yield f"spread: {[text_of(told_.spread(*key)) for key in told_.scores]} {told_.work(run_.planned[0])[:1]}"


def _plans(folder: Path) -> Iterator[str]:
    planned = read_jobs(made(folder / "run"))
    same = planned == [*JOBS.values()], planned == [*JOBS.values()][1:]
    yield _told("plan", len(planned), [len(part.ids) for part in planned.series], [*ids_of(planned)], same)
    yield f"plan: {planned[0].seed} {planned[-1].seed} {[one.seed for one in planned[2:5]]} {[one.seed for one in planned[::-3]]}"
    for place in (9, -10):
        try:
            yield f"plan: {planned[place]}"
        except IndexError as err:
            yield f"plan: no {err}"
    other = changed_kinds(planned, lambda one: one.model_copy(update={"label": "L"}))
    alone = changed_kinds([*planned][:1], lambda one: one)[0].seed
    yield _told("plan", isinstance(other, PlannedJobs), [one.label for one in other][:2], alone)
    chosen = [*chosen_of(planned, lambda id_: id_.endswith("3")), *chosen_of([*planned], lambda id_: id_.endswith("5"))]
    yield _told("plan", [one.seed for one in chosen])
    table = PriceTable({**PRICES, "q/n": Price(prompt=1.0, completion=2.0, cached=0.1, written=1.25)})
    for name in ("m", "n"):
        identity = JOBS["whole"].models["optimizer" if name == "m" else "agent"]
        usd = table.usd(identity, prompt=1000, completion=10, cached=100, written=50)
        yield _told(f"price of {identity.provider}/{identity.model}", table.price(identity), usd)


PARTS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "pairs": _pairs, "samples": _samples, "families": _families, "estimates": _estimates, "plans": _plans,
}  # fmt: skip


def sum_of(part: str, folder: Path) -> list[str]:
    """Return what one part comes to."""
    return [line.rstrip() for line in PARTS[part](folder)]


def sums() -> Said:
    """Return what it comes to now."""
    return said_of_each(PARTS, sum_of)
