"""Bootstrap intervals of means and interquartile means: seeds are resampled inside their task.

The interquartile mean pools the scores of all tasks, as rliable does (Agarwal et al., 2021, arXiv:2108.13264).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tracebench_analysis.statistics.intervals import CONFIDENCE, LEAST, Interval, Strata, standard_error, t_interval
from tracebench_runs.results.student import quantile

RESAMPLES = 2000
FEWEST = 5
"""Scores of a stratum below which resamples without any spread are too common for the studentised bootstrap."""
BLOCK = 200_000
"""Resampled scores that are held at a time."""
TRIMMED = 0.25
"""Share that an interquartile mean leaves out at either end."""


def bootstrap_t_interval(
    strata: Strata, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the mean of the strata's means with the wider of Student's and the studentised bootstrap's limits.

    The studentised bootstrap (Efron & Tibshirani, 1993, ch. 12.5) follows skewed scores, Student's interval has the better hold where
    few scores take few values; seeds are resampled inside their task.
    """
    plain = t_interval(strata, confidence=confidence)
    error = standard_error(strata)
    if error is None or error.value == 0 or plain.low is None or plain.high is None or min(map(len, strata)) < FEWEST:
        return plain
    rng = np.random.default_rng(seed)
    means = np.zeros(resamples)
    variances = np.zeros(resamples)
    for stratum in strata:
        blocks = [(b.mean(axis=1), b.var(axis=1, ddof=1)) for b in _blocks([stratum], resamples, rng)]
        means += np.concatenate([mean for mean, _ in blocks])
        variances += np.concatenate([variance for _, variance in blocks]) / len(stratum)
    means /= len(strata)
    errors = np.sqrt(variances) / len(strata)
    off = means - plain.estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(errors > error.value * 1e-9, off / errors, np.sign(off) * np.inf)
    ratios = np.where(np.isnan(ratios), 0.0, ratios)
    tail = (1 - confidence) / 2
    below, above = np.quantile(ratios, [tail, 1 - tail], method="inverted_cdf")
    limit = 3 * quantile((1 + confidence) / 2, df=error.freedom)  # few scores can make a resample without any spread
    low = plain.estimate - min(float(above), limit) * error.value
    high = plain.estimate - max(float(below), -limit) * error.value
    return Interval(plain.estimate, min(low, plain.low), max(high, plain.high), plain.n)


def interquartile_mean(scores: Sequence[float]) -> float:
    """Return the mean without the lowest and the highest quarter, each rounded down to whole scores, as `scipy.stats.trim_mean` does."""
    ordered = sorted(scores)
    cut = int(TRIMMED * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    return math.fsum(kept) / len(kept)


def iqm_interval(
    strata: Strata, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the interquartile mean of all scores with a stratified bootstrap interval."""

    def iqm(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        ordered = np.sort(drawn, axis=1)
        cut = int(TRIMMED * ordered.shape[1])
        return np.asarray(ordered[:, cut : ordered.shape[1] - cut].mean(axis=1))

    estimate = interquartile_mean([score for stratum in strata for score in stratum])
    return bootstrap_interval(strata, iqm, estimate=estimate, confidence=confidence, resamples=resamples, seed=seed)


def bootstrap_interval(
    strata: Strata,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    estimate: float,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
    expanded: bool = True,
) -> Interval:
    """Return a stratified percentile bootstrap interval of a statistic of pooled scores.

    `statistic` maps scores of shape (m, n), the strata side by side, to shape (m,), m resamples at a time. With `expanded` the percentiles
    lie further out, as much as Student's quantile and the factor sqrt(n / (n - 1)) ask for (Hesterberg, 2015, The American
    Statistician 69:371, section 4.3.3): without that, five seeds make 95 % cover 85 %.
    """
    n = sum(map(len, strata))
    if not strata or any(len(s) < LEAST for s in strata):
        return Interval(estimate, None, None, n)
    rng = np.random.default_rng(seed)
    values = np.concatenate([statistic(block) for block in _blocks(strata, resamples, rng)])
    tail = (1 - confidence) / 2
    if expanded:
        fewest = min(map(len, strata))
        freedom = sum(len(s) - 1 for s in strata)
        tail = NormalDist().cdf(-math.sqrt(fewest / (fewest - 1)) * quantile(1 - tail, df=freedom))
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(estimate, float(min(low, estimate)), float(max(high, estimate)), n)


def _blocks(strata: Strata, times: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """Yield resamples of shape (m, n), the strata side by side, `times` in all.

    They are what `rng` gives for one whole stratum after another, whatever is held at a time.
    """
    every = [np.asarray(stratum, dtype=float) for stratum in strata]
    step = max(1, BLOCK // sum(map(len, every)))
    sources = [rng]
    for scores in every[:-1]:
        sources.append(deepcopy(sources[-1]) if step < times else rng)
        for rows in _steps(times, step) if step < times else ():
            sources[-1].integers(0, len(scores), size=(rows, len(scores)))
    for rows in _steps(times, step):
        drawn = [s[source.integers(0, len(s), size=(rows, len(s)))] for s, source in zip(every, sources, strict=True)]
        yield np.concatenate(drawn, axis=1)


def _steps(times: int, step: int) -> list[int]:
    return [min(step, times - start) for start in range(0, times, step)]
