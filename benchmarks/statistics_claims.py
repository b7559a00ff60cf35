"""Do the statistics keep what they claim? `python benchmarks/statistics_claims.py false-alarms|coverage|adaptive [--simulations N]`.

Every number comes from the functions that `trace-bench compare` uses, on scores drawn from five shapes: `normal`; `skewed` (exponential:
most runs end low, a few high); `accuracy` (of 20 test examples, so many ties); `heavy` (Student's t with 3 degrees of freedom); `stuck`
(one run in ten does not improve at all). Both trainers of a comparison draw from the same shape; `adaptive` adds a difference.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tracebench_core.analysis.bootstrap import bootstrap_interval, bootstrap_t_interval, iqm_interval
from tracebench_core.analysis.intervals import t_interval, t_probability
from tracebench_core.analysis.multiplicity import holm
from tracebench_core.analysis.resolution import paired_seeds_to_resolve, smallest_paired_difference
from tracebench_core.analysis.sequential import STRETCH, Looks, decide, plan_looks

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
    "skewed": (lambda rng, shape: rng.exponential(size=shape), 1.0),
    "accuracy": (lambda rng, shape: rng.binomial(20, 0.8, size=shape) / 20, 0.8),
    "heavy": (lambda rng, shape: rng.standard_t(3, size=shape), 0.0),
    "stuck": (lambda rng, shape: np.where(rng.random(shape) < 0.1, 0.0, rng.normal(0.6, 0.1, shape)), 0.54),
}
"""How scores are drawn, and their mean."""


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


def paired(draw: Draw, rng: np.random.Generator, shape: tuple[int, ...]) -> list[list[list[float]]]:
    """Return differences of two equal trainers: simulations x tasks x seeds."""
    return (draw(rng, shape) - draw(rng, shape)).tolist()  # type: ignore[no-any-return]


def false_alarms(simulations: int) -> None:
    """Print how often equal trainers are told apart: at one look, with a look after every seed, and among six trainers."""
    rows = []
    worst = 0.0
    for name, (draw, _) in SHAPES.items():
        rng = np.random.default_rng(1)
        for tasks, seeds in ((1, 5), (1, 10), (5, 5), (5, 10)):
            found = sum((t_probability(p) or 0.0) < 0.05 for p in paired(draw, rng, (simulations, tasks, seeds)))
            worst = max(worst, limit := upper_limit(found, simulations))
            rows.append((name, f"one look, {tasks} x {seeds}", f"{found / simulations:.4f}", f"{limit:.4f}"))
        for tasks, most in ((1, 15), (5, 15), (1, 30)):
            looks = plan_looks(most)
            found = sum(_alarm(p, looks) for p in paired(draw, rng, (simulations, tasks, most)))
            worst = max(worst, limit := upper_limit(found, simulations))
            rows.append(
                (name, f"look after each of {most} seeds, {tasks} tasks", f"{found / simulations:.4f}", f"{limit:.4f}")
            )
        found = sum(_any_pair(scores) for scores in draw(rng, (simulations, 6, 5, 10)))
        worst = max(worst, limit := upper_limit(found, simulations))
        rows.append(
            (name, "any of 15 pairs of six trainers, 5 x 10, Holm", f"{found / simulations:.4f}", f"{limit:.4f}")
        )
    show(("scores", "design (tasks x seeds)", "false alarms", "upper 99 % limit"), rows)
    print(f"\nworst upper limit {worst:.4f} (goal: at most 0.06); {simulations} simulated comparisons a row")


def _alarm(pairs: list[list[float]], plan: Looks) -> bool:
    for n in range(plan.first, plan.most + 1):
        verdict = decide([task[:n] for task in pairs], plan).verdict
        if verdict in {"better", "worse"}:
            return True
    return False


def _any_pair(scores: NDArray[np.float64]) -> bool:
    found = [
        t_probability((scores[i] - scores[j]).tolist()) for i in range(len(scores)) for j in range(i + 1, len(scores))
    ]
    return any(p is not None and p < 0.05 for p in holm(found))


def coverage(simulations: int) -> None:
    """Print how often 95 % intervals hold the truth, by shape and seeds."""
    few = max(200, simulations // 10)
    rows = []
    for name, (draw, mean) in SHAPES.items():
        rng = np.random.default_rng(2)
        for seeds in (5, 7, 10, 20, 40):
            differences = [t_interval(p) for p in paired(draw, rng, (simulations, 1, seeds))]
            over_tasks = [t_interval(p) for p in paired(draw, rng, (simulations, 5, seeds))]
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
            looks = plan_looks(math.floor(STRETCH * fixed))
            for factor in (0.0, 1.0, 1.5):
                used, found = [], 0
                for pairs in (rng.normal(factor * design, 1.0, (simulations, tasks, looks.most))).tolist():
                    for n in range(looks.first, looks.most + 1):
                        verdict = decide([task[:n] for task in pairs], looks).verdict
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


def main() -> None:
    """Run one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("false-alarms", "coverage", "adaptive"))
    parser.add_argument("--simulations", type=int, default=10_000)
    chosen = parser.parse_args()
    started = time.perf_counter()
    {"false-alarms": false_alarms, "coverage": coverage, "adaptive": adaptive}[chosen.table](chosen.simulations)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
