"""How far can one tell of other tasks? `python benchmarks/other_tasks.py [--simulations N]`.

Tasks are drawn from a population of tasks, seeds inside each, and the 95 % interval for the population's mean difference is taken in
five ways: as `compare` does (`Contrast.elsewhere`); from the variance of the tasks' differences alone; and as a meta-analysis does it,
tasks weighing by the inverse of their variance, that between tasks estimated by moments (DerSimonian & Laird, 1986) or restricted
maximum likelihood, with normal quantiles or the adjustment of Hartung & Knapp (2001). Every row is the lowest and the highest coverage
over 3 and 10 seeds, a spread between tasks of 0, 0.5 and 2 times that of a seed, and seeds that vary alike on all tasks or unlike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from statistics_claims import by_task, show

from tracebench_analysis.statistics.differences import compare_scores
from tracebench_runs.results.student import quantile

Array = NDArray[np.float64]
MEAN = 0.3
SEEDS, SPREADS, TASKS = (3, 10), (0.0, 0.5, 2.0), (2, 3, 5, 10)
NORMAL = 1.959964
POPULATIONS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """Scores of two trainers, tasks x seeds, the true mean difference over all tasks that could have been drawn being `truth`."""

    one: Array
    other: Array
    truth: float


def normal_scores(population: str, tasks: int) -> Iterator[Callable[[np.random.Generator], Drawn]]:
    """Yield one way of drawing for every cell of a row."""
    for seeds, spread, unlike in product(SEEDS, SPREADS, (0.0, 0.8)):

        def draw(
            rng: np.random.Generator, *, seeds: int = seeds, spread: float = spread, unlike: float = unlike
        ) -> Drawn:
            lead = MEAN + spread * POPULATIONS[population](rng, tasks)
            noise = np.exp(rng.normal(0.0, unlike, size=tasks))
            one = lead[:, None] + noise[:, None] * rng.normal(size=(tasks, seeds))
            return Drawn(one, np.zeros((tasks, seeds)), MEAN)

        yield draw


def shares(tasks: int) -> Iterator[Callable[[np.random.Generator], Drawn]]:
    """Yield the same for shares of five examples, so few values that tasks come out alike by chance."""
    for seeds, spread in product(SEEDS, (0.0, 0.1)):

        def draw(rng: np.random.Generator, *, seeds: int = seeds, spread: float = spread) -> Drawn:
            lead = 0.1 + spread * np.clip(rng.normal(size=tasks), -3, 3)
            one = rng.binomial(5, 0.6, size=(tasks, seeds)) / 5
            other = rng.binomial(5, (0.6 - lead)[:, None], size=(tasks, seeds)) / 5
            return Drawn(one, other, 0.1)

        yield draw


def weighed(y: Array, v: Array, between: float, *, adjusted: bool) -> tuple[float, float]:
    """Return the mean by inverse variance and half its interval."""
    w = 1 / (v + between)
    mean = float((w * y).sum() / w.sum())
    if not adjusted:
        return mean, NORMAL / float(np.sqrt(w.sum()))
    q = float((w * (y - mean) ** 2).sum()) / (len(y) - 1)
    return mean, quantile(0.975, df=len(y) - 1) * float(np.sqrt(q / w.sum()))


def by_moments(y: Array, v: Array) -> float:
    """Return the variance between tasks (DerSimonian & Laird, 1986, Control. Clin. Trials 7:177)."""
    w = 1 / v
    q = float((w * (y - (w * y).sum() / w.sum()) ** 2).sum())
    return max(0.0, (q - (len(y) - 1)) / float(w.sum() - (w * w).sum() / w.sum()))


def by_likelihood(y: Array, v: Array) -> float:
    """Return the variance between tasks by restricted maximum likelihood (Viechtbauer, 2005, J. Educ. Behav. Stat. 30:261)."""
    found = by_moments(y, v)
    for _ in range(50):
        w = 1 / (v + found)
        mean = (w * y).sum() / w.sum()
        step = float((w * w * ((y - mean) ** 2 - v)).sum() / (w * w).sum() + 1 / w.sum())
        found = max(0.0, (found + step) / 2)
    return found


WAYS = ("as compare does", "tasks alone", "DL, normal", "DL, Hartung-Knapp", "REML, Hartung-Knapp")


def halves(drawn: Drawn) -> list[tuple[float, float]]:
    """Return mean and half interval by each way; seeds that do not vary on a task leave the weights without one, so they have none."""
    tasks = len(drawn.one)
    units = {str(task): 1.0 for task in range(tasks)}
    told = compare_scores(by_task(drawn.one.tolist()), by_task(drawn.other.tolist()), spans=units)
    assert told is not None
    used = told.elsewhere
    half = float("inf") if used.high is None else used.high - used.estimate
    y = np.array([t.estimate for t in told.contrast.tasks])
    alone = quantile(0.975, df=tasks - 1) * float(np.sqrt(y.var(ddof=1) / tasks))
    v = np.array([t.variance for t in told.contrast.tasks])
    if not v.all():
        return [(used.estimate, half), (used.estimate, alone)]
    moments, likelihood = by_moments(y, v), by_likelihood(y, v)
    return [
        (used.estimate, half),
        (used.estimate, alone),
        weighed(y, v, moments, adjusted=False),
        weighed(y, v, moments, adjusted=True),
        weighed(y, v, likelihood, adjusted=True),
    ]


def row(draws: Iterator[Callable[[np.random.Generator], Drawn]], simulations: int) -> list[str]:
    """Return by way the lowest and highest coverage of some cells, and the median over them of the median half interval."""
    rng = np.random.default_rng(11)
    held: list[list[float]] = [[] for _ in WAYS]
    wide: list[list[float]] = [[] for _ in WAYS]
    for draw in draws:
        cell: list[list[tuple[bool, float]]] = [[] for _ in WAYS]
        for drawn in (draw(rng) for _ in range(simulations)):
            for seen, (mean, half) in zip(cell, halves(drawn), strict=False):
                seen.append((abs(mean - drawn.truth) <= half + 1e-9, half))
        for i, seen in enumerate(cell):
            whole = len(seen) == simulations
            held[i].append(sum(hit for hit, _ in seen) / simulations if whole else np.nan)
            wide[i].append(float(np.median([half for _, half in seen])) if whole else np.nan)
    return [_cell(h, w) for h, w in zip(held, wide, strict=True)]


def _cell(held: Sequence[float], wide: Sequence[float]) -> str:
    return "-" if np.isnan(held).any() else f"{min(held):.3f}-{max(held):.3f} (±{np.median(wide):.2f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    simulations = parser.parse_args().simulations
    started = time.perf_counter()
    rows: list[tuple[object, ...]] = []
    for tasks in TASKS:
        rows += [(tasks, f"{name} tasks", *row(normal_scores(name, tasks), simulations)) for name in POPULATIONS]
        rows.append((tasks, "shares of 5", *row(shares(tasks), simulations)))
    show(("tasks", "scores", *WAYS), rows)
    print(f"\n{simulations} simulations a cell; coverage, lowest and highest, and the middle half interval")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
