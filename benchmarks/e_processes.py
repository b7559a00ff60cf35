"""Would e-processes settle comparisons with fewer seeds? `python benchmarks/e_processes.py [--simulations N]`.

Pairs of one task, a look after each seed, designs that a fixed number of seeds would resolve with 80 % power. Beside the rule of
`compare --most-seeds` (Pocock's level, which needs the last look beforehand):

* `e-process`: the t-test's, the mixture over effects N(0, g) by the right Haar prior of the scale (Wang & Ramdas, 2023; Perez-Ortiz et al.,
  2024), E_n = (1 + n g)^(-1/2) ((1 + t^2/v) / (1 + t^2/(v (1 + n g))))^(n/2), v = n - 1. It stops at E >= 20 and may be looked at for ever.
  g is given the square of the very effect that is there to be found, and is tried at four times and a quarter of it: the best counts.
* `e-process, calibrated`: the same with the threshold that errs in 5 % up to the last look, which is no longer valid beyond it.
* `known spread`: the mixture SPRT of Robbins (1970) with the true standard deviation, which no comparison has. `--oracle` holds it against
  PyPI's `ville` (MSPRT).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracebench_analysis.statistics.differences import compare_scores
from tracebench_analysis.statistics.resolution import smallest_paired_difference
from tracebench_analysis.statistics.sequential import FREEDOM, STRETCH, Looks, decide, plan_looks
from tracebench_runs.results.student import quantile

Grid = NDArray[np.float64]
ALPHA = 0.05
FIXED = (10, 20, 30)
TIMES = (0.0, 1.0, 1.5)


def looks_of(drawn: Grid) -> tuple[Grid, Grid]:
    """Return n and Student's t after each seed; `drawn` is simulations x seeds."""
    n = np.arange(1, drawn.shape[1] + 1)
    means = np.cumsum(drawn, axis=1) / n
    squares = np.maximum(np.cumsum(drawn**2, axis=1) - n * means**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n.astype(np.float64), means / np.sqrt(squares / (n - 1) / n)


def log_e(n: Grid, t: Grid, g: float) -> Grid:
    """Return the logarithm of the t-test's e-process after each seed; below two seeds it is 0."""
    v = np.maximum(n - 1, 1)
    value = -np.log1p(n * g) / 2 + n / 2 * (np.log1p(t**2 / v) - np.log1p(t**2 / (v * (1 + n * g))))
    return np.where(n > 1, value, 0.0)


def log_known(n: Grid, drawn: Grid, g: float) -> Grid:
    """Return the logarithm of the mixture SPRT of a standard deviation of 1."""
    return -np.log1p(n * g) / 2 + np.cumsum(drawn, axis=1) ** 2 * g / (2 * (1 + n * g))


def pocock(n: Grid, t: Grid, plan: Looks) -> Grid:
    """Return by how much each look of the plan passes its boundary."""
    wide = np.array([quantile(1 - plan.level / 2, df=int(k) - 1) if k > FREEDOM else math.inf for k in n])
    return np.abs(t) - wide


def stops(passed: Grid, threshold: float, first: int) -> tuple[float, float]:
    """Return mean seeds and the share told apart, when one stops at the first look at or above the threshold."""
    over = passed >= threshold
    over[:, : first - 1] = False
    told = over.any(axis=1)
    seeds = np.where(told, over.argmax(axis=1) + 1, passed.shape[1])
    return float(seeds.mean()), float(told.mean())


def calibrated(passed: Grid, first: int) -> float:
    """Return the threshold that 5 % of null paths reach."""
    return float(np.quantile(passed[:, first - 1 :].max(axis=1), 1 - ALPHA))


def agrees_with_compare(drawn: Grid, plan: Looks) -> None:
    """Hold the vectorised rule against `decide` on some paths."""
    n, t = looks_of(drawn)
    found = pocock(n, t, plan) > 0
    for path, told in zip(drawn.tolist(), found, strict=True):
        for k in range(plan.first, plan.most + 1):
            two = compare_scores({"t": dict(enumerate(path[:k]))}, {"t": dict.fromkeys(range(k), 0.0)})
            assert two is not None
            assert (decide(two.contrast, plan).verdict in {"better", "worse"}) == bool(told[k - 1]), k


def holds_against_ville(drawn: Grid) -> None:
    """Hold the mixture SPRT against PyPI's `ville`."""
    from ville import MSPRT  # type: ignore[import-not-found]  # noqa: PLC0415 - an oracle, not needed otherwise

    n = np.arange(1, drawn.shape[1] + 1).astype(np.float64)
    for path in drawn:
        oracle = np.asarray(MSPRT(sigma=1.0, tau=0.7).fit(path).log_e_values_)
        assert np.allclose(log_known(n, path[None], 0.49)[0], oracle, atol=1e-9)
    print(f"ville agrees on {len(drawn)} paths")


def rows(fixed: int, simulations: int) -> list[Sequence[object]]:
    """Return the table of one design."""
    design = smallest_paired_difference(fixed)
    assert design is not None
    plan = plan_looks(math.floor(STRETCH * fixed))
    first = max(plan.first, FREEDOM + 1)
    rng = np.random.default_rng(12)
    noise = [rng.normal(size=(simulations, plan.most)) for _ in TIMES]
    agrees_with_compare(noise[0][:40], plan)
    null_n, null_t = looks_of(noise[0])
    found: list[tuple[str, list[tuple[float, float]]]] = []
    shifted = [drawn + times * design for drawn, times in zip(noise, TIMES, strict=True)]
    seen = [looks_of(drawn) for drawn in shifted]
    found.append(("compare", [stops(pocock(n, t, plan), 0.0, first) for n, t in seen]))
    by_g = [g * design**2 for g in (0.25, 1.0, 4.0)]
    for name, at in (
        ("e-process", lambda _: math.log(1 / ALPHA)),
        ("e-process, calibrated", lambda g: calibrated(log_e(null_n, null_t, g), first)),
    ):
        tried = [[stops(log_e(n, t, g), at(g), first) for n, t in seen] for g in by_g]
        found.append((name, min(tried, key=lambda told: told[1][0])))
    known = [
        [stops(log_known(n, drawn, g), math.log(1 / ALPHA), first) for (n, _), drawn in zip(seen, shifted, strict=True)]
        for g in by_g
    ]
    found.append(("known spread", min(known, key=lambda told: told[1][0])))
    return [(f"{fixed} seeds", name, *(f"{seeds:.1f} {told:.3f}" for seeds, told in cells)) for name, cells in found]


def main() -> None:
    """Print mean seeds and the share told apart of every rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=20_000)
    parser.add_argument(
        "--oracle", action="store_true", help="Hold the mixture SPRT against `ville`, which has to be installed."
    )
    chosen = parser.parse_args()
    started = time.perf_counter()
    if chosen.oracle:
        holds_against_ville(np.random.default_rng(13).normal(size=(50, 40)))
        return
    print("| fixed design | rule | none | the design's | 1.5 times |\n|" + " --- |" * 5)
    for fixed in FIXED:
        for row in rows(fixed, chosen.simulations):
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print(
        f"\nmean seeds and share told apart; {chosen.simulations} simulations a row, {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
