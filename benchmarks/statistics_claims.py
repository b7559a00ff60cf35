"""Do the statistics keep what they claim? `python benchmarks/statistics_claims.py TABLE [--simulations N]`.

Every number comes from the functions that `trace-bench compare` uses, on scores drawn from seven shapes: `normal`; `heavy` (Student's t
with 3 degrees of freedom); `Cauchy`; `lognormal` (most runs end low, a few high); `shares` of 5 and of 20 test examples, so many ties;
`stuck` (one run in ten does not improve at all). Both trainers of a comparison draw from the same shape, but in `unequal`; `adaptive`
and `equivalent` add a difference.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.gates import Gate, is_met
from tracebench_analysis.comparison.sentences import CLEAR
from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.statistics.bootstrap import bootstrap_interval, bootstrap_t_interval, iqm_interval
from tracebench_analysis.statistics.differences import Scores, compare_scores
from tracebench_analysis.statistics.intervals import Interval
from tracebench_analysis.statistics.multiplicity import holm
from tracebench_analysis.statistics.resolution import paired_seeds_to_resolve, smallest_paired_difference
from tracebench_analysis.statistics.sequential import STRETCH, Looks, decide, plan_looks
from tracebench_core.errors import UsageError

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
Lower = Callable[[np.random.Generator, tuple[int, ...], float], NDArray[np.float64]]
"""Draws scores of a trainer that is so many times the margin below the other."""

SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
    "heavy": (lambda rng, shape: rng.standard_t(3, size=shape), 0.0),
    "Cauchy": (lambda rng, shape: rng.standard_cauchy(size=shape), 0.0),
    "lognormal": (lambda rng, shape: rng.lognormal(0.0, 1.0, size=shape), math.exp(0.5)),
    "shares of 5": (lambda rng, shape: rng.binomial(5, 0.7, size=shape) / 5, 0.7),
    "shares of 20": (lambda rng, shape: rng.binomial(20, 0.8, size=shape) / 20, 0.8),
    "stuck": (lambda rng, shape: np.where(rng.random(shape) < 0.1, 0.0, rng.normal(0.6, 0.1, shape)), 0.54),
}
"""How scores are drawn, and their mean (of Cauchy's, which has none, the middle)."""
SEEDS, TASKS = (2, 3, 4, 5, 10), (1, 3, 10)
LOOKED = ((1, 15), (3, 10), (5, 10))
EQUIVALENCE_SEEDS = (3, 5, 10, 20)
UNITS = {str(task): 1.0 for task in range(10)}
"""Every task counts in its own units."""
UNEQUAL: tuple[tuple[str, Draw, float], ...] = (
    ("exponential", lambda rng, shape: rng.exponential(size=shape), 1.0),
    ("lognormal", SHAPES["lognormal"][0], math.exp(0.5)),
    ("stuck", SHAPES["stuck"][0], 0.54),
)


def upper_limit(hits: int, trials: int, *, z: float = 2.326) -> float:
    """Return the one-sided upper 99 % limit of a rate (Wilson, 1927)."""
    p = hits / trials
    centre = p + z * z / (2 * trials)
    half = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    return (centre + half) / (1 + z * z / trials)


def show(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(headers) + " |")
    print("|" + " --- |" * len(headers))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def tables(draw: Draw, rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[tuple[Scores, Scores]]:
    """Yield the scores of two equal trainers by task and seed. `shape` is simulations x tasks x seeds."""
    for one, other in zip(draw(rng, shape).tolist(), draw(rng, shape).tolist(), strict=True):
        yield by_task(one), by_task(other)


def by_task(scores: Sequence[Sequence[float]]) -> Scores:
    """Return scores (tasks x seeds) as a comparison takes them."""
    return {str(task): dict(enumerate(seeds)) for task, seeds in enumerate(scores)}


def told_apart(one: Scores, other: Scores, *, alpha: float = 0.05) -> bool:
    """Tell whether `compare --gate` would call either of two better."""
    found = compare_scores(one, other)
    return found is not None and found.probability is not None and found.probability < alpha


def false_alarms(simulations: int) -> None:
    """Print how often equal trainers are told apart: at one look, with a look after every seed, and among six trainers."""
    rows: list[tuple[object, ...]] = []
    limits: dict[str, float] = {}
    for name, (draw, _) in SHAPES.items():
        rng = np.random.default_rng(1)
        for tasks in TASKS:
            rates = []
            for seeds in SEEDS:
                found = sum(told_apart(*two) for two in tables(draw, rng, (simulations, tasks, seeds)))
                rates.append(found / simulations)
                limits[f"{name}, {tasks} x {seeds}"] = upper_limit(found, simulations)
            rows.append((name, tasks, *(f"{rate:.4f}" for rate in rates)))
    show(("scores", "tasks", *(f"{seeds} seeds" for seeds in SEEDS)), rows)
    worst = max(limits, key=limits.__getitem__)
    print(f"\none look; {simulations} simulations a cell; worst upper 99 % limit {limits[worst]:.4f} ({worst})\n")


def looks(simulations: int) -> None:
    """Print how often equal trainers are told apart by a look after every seed."""
    rows = []
    for name, (draw, _) in SHAPES.items():
        rng, rates = np.random.default_rng(6), []
        for tasks, most in LOOKED:
            plan = plan_looks(most)
            found = sum(_alarm(one, other, plan) for one, other in tables(draw, rng, (simulations, tasks, most)))
            rates.append(f"{found / simulations:.4f}")
        rows.append((name, *rates))
    show(("scores", *(f"{tasks} x {most}" for tasks, most in LOOKED)), rows)
    print(f"\na look after each seed, tasks x most seeds; {simulations} simulations a cell\n")


def family(simulations: int) -> None:
    """Print how often any of six equal trainers is called better than another, by Holm over their fifteen pairs."""
    rows = []
    for examples in (3, 5, 10, 20, 100):
        rng, rates = np.random.default_rng(7), []
        for seeds in SEEDS:
            shares = rng.binomial(examples, 0.7, size=(simulations, 6, 1, seeds)) / examples
            rates.append(f"{sum(_any_pair(table) for table in shares.tolist()) / simulations:.4f}")
        rows.append((f"shares of {examples}", *rates))
    show(("scores", *(f"{seeds} seeds" for seeds in SEEDS)), rows)
    print(f"\nany of fifteen pairs, one task; {simulations} simulations a cell\n")


def unequal(simulations: int) -> None:
    """Print how often two trainers of equal mean and unequal shape are told apart: what no test on few seeds can hold."""
    rows = []
    for name, draw, mean in UNEQUAL:
        rng, rates = np.random.default_rng(8), []
        for tasks, seeds in ((1, 5), (1, 10), (1, 20), (5, 5), (5, 10)):
            constant = by_task([[mean] * seeds] * tasks)
            drawn = draw(rng, (simulations, tasks, seeds)).tolist()
            found = [compare_scores(constant, by_task(table)) for table in drawn]
            chances = [told.probability for told in found if told is not None and told.probability is not None]
            rates.append(" ".join(f"{sum(p < level for p in chances) / simulations:.3f}" for level in (0.05, CLEAR)))
        rows.append((name, *rates))
    show(("a constant against", "1 x 5", "1 x 10", "1 x 20", "5 x 5", "5 x 10"), rows)
    print(f"\ntasks x seeds; told apart at 0.05 and at {CLEAR:g}; {simulations} simulations a cell\n")


def equivalent(simulations: int) -> None:
    """Print how often trainers are called equivalent: wrongly, as far apart as the margin, and rightly, being equal."""
    rows = []
    for name, draw, tasks, margin, spans in _margins():
        rng, rates = np.random.default_rng(10), []
        for apart in (1.0, 0.0):
            for seeds in EQUIVALENCE_SEEDS:
                found = 0
                for one, other in zip(
                    draw(rng, (simulations, tasks, seeds), apart).tolist(),
                    draw(rng, (simulations, tasks, seeds), 0.0).tolist(),
                    strict=True,
                ):
                    told = compare_scores(by_task(one), by_task(other), spans=spans)
                    assert told is not None
                    chance = told.contrast.equivalence(margin)
                    found += chance is not None and chance < 0.05
                rates.append(f"{found / simulations:.3f}")
        rows.append((name, tasks, margin, *rates))
    wrong = [f"{seeds} seeds, at the margin" for seeds in EQUIVALENCE_SEEDS]
    show(("scores", "tasks", "margin", *wrong, *(f"{seeds}, equal" for seeds in EQUIVALENCE_SEEDS)), rows)
    print(f"\n{simulations} simulations a cell\n")


def equivalent_family(simulations: int) -> None:
    """Print how often any pair of six trainers is wrongly called equivalent, being as far apart as the margin, by Holm over all fifteen."""
    rows = []
    for name, draw, margin in (
        ("normal", SHAPES["normal"][0], 1.0),
        ("lognormal", SHAPES["lognormal"][0], 1.0),
        ("shares of 20", SHAPES["shares of 20"][0], 0.1),
    ):
        for told, levels in (("three and three", (0, 0, 0, 1, 1, 1)), ("a ladder", (0, 1, 2, 3, 4, 5))):
            rng, rates = np.random.default_rng(14), []
            for seeds in EQUIVALENCE_SEEDS:
                drawn = draw(rng, (simulations, 6, 1, seeds)) - margin * np.array(levels).reshape(6, 1, 1)
                rates.append(
                    f"{sum(_wrongly_alike(table, levels, margin) for table in drawn.tolist()) / simulations:.4f}"
                )
            rows.append((name, told, *rates))
    show(("scores", "true differences", *(f"{seeds} seeds" for seeds in EQUIVALENCE_SEEDS)), rows)
    print(f"\nany pair at the margin called equivalent, one task; {simulations} simulations a cell\n")


def _wrongly_alike(table: Sequence[Sequence[Sequence[float]]], levels: Sequence[int], margin: float) -> bool:
    pairs = [
        (a, b, compare_scores(by_task(table[a]), by_task(table[b]))) for a, b in combinations(range(len(table)), 2)
    ]
    chances = holm([told.contrast.equivalence(margin) for _, _, told in pairs if told is not None])
    return any(
        p is not None and p < 0.05 and levels[a] != levels[b] for p, (a, b, _) in zip(chances, pairs, strict=True)
    )


def _margins() -> Iterator[tuple[str, Lower, int, float, Mapping[str, float]]]:
    """Yield name, how scores are drawn, tasks, margin, and the fixed scales, none where differences are standardised."""

    def shifted(draw: Draw, by: float) -> Lower:
        return lambda rng, shape, times: draw(rng, shape) - times * by

    def shares(of: int, high: float, by: float) -> Lower:
        return lambda rng, shape, times: rng.binomial(of, high - times * by, size=shape) / of

    for tasks in (1, 5):
        for name, margin in (("normal", 1.0), ("heavy", 1.0), ("Cauchy", 1.0), ("lognormal", 1.0), ("stuck", 0.2)):
            yield name, shifted(SHAPES[name][0], margin), tasks, margin, UNITS
        yield "shares of 5", shares(5, 0.7, 0.2), tasks, 0.2, UNITS
        yield "shares of 20", shares(20, 0.8, 0.1), tasks, 0.1, UNITS
        yield "shares of 20, near 1", shares(20, 0.99, 0.02), tasks, 0.02, UNITS
    size = 0.5 / math.sqrt(1 - 0.5**2)
    for name, deviation in (("normal", 1.0), ("lognormal", math.sqrt((math.e - 1) * math.e))):
        yield f"{name}, standardised", shifted(SHAPES[name][0], size * deviation * math.sqrt(2)), 5, 0.5, {}


def runs(simulations: int) -> None:
    """Print how often a gate is met between equal trainers by the whole path: run directories of the store's own writer, then `compare`."""
    from tests.unit.analysis.runs import make_run  # noqa: PLC0415 - needs the checkout on the path

    rows = []
    for name, tasks, seeds in (
        ("normal", 1, 5), ("normal", 10, 3), ("Cauchy", 3, 5), ("shares of 5", 3, 3), ("lognormal", 3, 10), ("stuck", 1, 10),
    ):  # fmt: skip
        rng, met = np.random.default_rng(9), 0
        for one, other in tables(SHAPES[name][0], rng, (simulations, tasks, seeds)):
            with tempfile.TemporaryDirectory() as folder:
                both = {"A": one, "B": other}
                run = make_run(
                    Path(folder) / "r", lambda e, t, s, both=both: both[e][t][s], tasks=[*one], seeds=range(seeds)
                )
                found = compare_runs([run])
                met += any(_is_met(gate, found) for gate in (Gate("A", "B"), Gate("B", "A")))
        rows.append((name, f"{tasks} x {seeds}", f"{met / simulations:.4f}", f"{upper_limit(met, simulations):.4f}"))
    show(("scores", "tasks x seeds", "gates met", "upper 99 % limit"), rows)
    print(f"\n{simulations} runs a row\n")


def _is_met(gate: Gate, found: Comparison) -> bool:
    try:
        return is_met(gate, found)
    except UsageError:  # refused: the tasks disagree
        return False


def _alarm(one: Scores, other: Scores, plan: Looks) -> bool:
    for n in range(plan.first, plan.most + 1):
        found = compare_scores(_first(one, n), _first(other, n))
        if found is not None and decide(found.contrast, plan).verdict in {"better", "worse"}:
            return True
    return False


def _first(scores: Scores, seeds: int) -> Scores:
    return {task: dict(islice(by_seed.items(), seeds)) for task, by_seed in scores.items()}


def _any_pair(table: Sequence[Sequence[Sequence[float]]]) -> bool:
    found = [compare_scores(by_task(one), by_task(other)) for one, other in combinations(table, 2)]
    return any(p is not None and p < 0.05 for p in holm([pair.probability for pair in found if pair is not None]))


def coverage(simulations: int) -> None:
    """Print how often 95 % intervals hold the truth, by shape and seeds."""
    few = max(200, simulations // 10)
    rows = []
    for name, (draw, mean) in SHAPES.items():
        rng = np.random.default_rng(2)
        for seeds in (5, 7, 10, 20, 40):
            differences = [_difference(*two) for two in tables(draw, rng, (simulations, 1, seeds))]
            over_tasks = [_difference(*two, spans=UNITS) for two in tables(draw, rng, (simulations, 5, seeds))]
            scores = draw(rng, (few, 1, seeds)).tolist()
            plain = [
                bootstrap_interval(s, _mean, estimate=0.0 + sum(s[0]) / seeds, expanded=False, resamples=1000)
                for s in scores
            ]
            studentised = [bootstrap_t_interval(s, resamples=1000) for s in scores]
            one = [iqm_interval(s, resamples=1000) for s in scores]
            middle = [iqm_interval(s, resamples=1000) for s in draw(rng, (few, 5, seeds)).tolist()]
            rows.append((
                name, seeds, _share(i.excludes(0.0) for i in differences), _share(i.excludes(0.0) for i in over_tasks),
                _share(i.excludes(mean) for i in studentised), _share(i.excludes(mean) for i in plain),
                _share(i.excludes(_iqm_truth(name)) for i in one), _share(i.excludes(_iqm_truth(name)) for i in middle),
            ))  # fmt: skip
    show(
        ("scores", "seeds", "paired difference, 1 task", "paired difference, 5 tasks", "mean: studentised (used)",
         "mean: plain percentile (not used)", "IQM, 1 task", "IQM, 5 tasks"), rows,
    )  # fmt: skip
    print(
        f"\npaired differences: {simulations} simulations a cell, the others {few}; goal: at least 0.93 from 5 seeds on"
    )


def _difference(one: Scores, other: Scores, spans: Mapping[str, float] | None = None) -> Interval:
    found = compare_scores(one, other, spans=spans)
    assert found is not None
    return found.interval


def _mean(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(drawn.mean(axis=1))


@lru_cache
def _iqm_truth(name: str) -> float:
    drawn = np.sort(SHAPES[name][0](np.random.default_rng(3), (1_000_000,)))
    return float(drawn[len(drawn) // 4 : -len(drawn) // 4].mean())


def _share(misses: Iterable[bool]) -> str:
    counted = list(misses)
    return f"{1 - sum(counted) / len(counted):.3f}"


def adaptive(simulations: int) -> None:
    """Print the seeds a sequential comparison takes, beside the fixed number that a design for that difference needs."""
    rows = []
    rng = np.random.default_rng(4)
    for tasks in (1, 5):
        for fixed in (10, 20, 30):
            design = smallest_paired_difference(fixed, tasks=tasks)
            assert design is not None
            assert paired_seeds_to_resolve(design, tasks=tasks) == fixed
            plan = plan_looks(math.floor(STRETCH * fixed))
            for factor in (0.0, 1.0, 1.5):
                used, found = [], 0
                for drawn in (rng.normal(factor * design, 1.0, (simulations, tasks, plan.most))).tolist():
                    one, nothing = by_task(drawn), by_task([[0.0] * plan.most] * tasks)
                    for n in range(plan.first, plan.most + 1):
                        told = compare_scores(_first(one, n), _first(nothing, n))
                        assert told is not None
                        verdict = decide(told.contrast, plan).verdict
                        if verdict != "open":
                            break
                    used.append(n)
                    found += verdict in {"better", "worse"}
                mean = sum(used) / len(used)
                rows.append(
                    (
                        tasks,
                        fixed,
                        f"{factor:g} x",
                        f"{mean:.1f}",
                        f"{mean / fixed:.2f}",
                        max(used),
                        f"{found / simulations:.3f}",
                    )
                )
    show(("tasks", "fixed seeds", "true difference", "mean seeds", "of the fixed", "most", "told apart"), rows)
    print(f"\n{simulations} simulations a row; the fixed design finds its difference (1 x) with 80 % power")


TABLES = {
    "false-alarms": false_alarms,
    "looks": looks,
    "family": family,
    "unequal": unequal,
    "equivalent": equivalent,
    "equivalent-family": equivalent_family,
    "runs": runs,
    "coverage": coverage,
    "adaptive": adaptive,
}


def main() -> None:
    """Run one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--simulations", type=int, default=10_000)
    chosen = parser.parse_args()
    started = time.perf_counter()
    TABLES[chosen.table](chosen.simulations)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
