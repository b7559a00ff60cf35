"""Figures of one run, by statistics that are written here a second time: Student, Holm, Friedman and Nemenyi without a library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_open.bench.alone.receipts import Data, Receipt, counts, draw_of, not_for_it, selected

COUNTED = ("ok", "timeout")
CONFIDENCE = 0.95
ROUNDING = 1e-9
CONVERGED = 1e-16
LEAST = 2
"""Scores of which a spread can be told, and optimizers of which a rank can."""


def beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 500):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + top * d), 1 + top / c
            total *= c * d
        if abs(c * d - 1) < CONVERGED:
            break
    return front * total


def t_tails(t: float, df: int) -> float:
    """Return the two-sided probability of Student's t."""
    return beta_share(df / (df + t * t), df / 2, 0.5)


def t_quantile(df: int) -> float:
    """Return the t beyond which 5 % lie, on both sides together."""
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tails(middle, df) > 1 - CONFIDENCE else (low, middle)
    return high


def variance(values: Sequence[float], size: float) -> float:
    """Return the sample variance; 0 where rounding alone holds the values apart."""
    if max(values) - min(values) <= ROUNDING * size:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def mean_of(scores: Sequence[float]) -> Data:
    """Return a mean with Student's interval over seeds."""
    mean = math.fsum(scores) / len(scores)
    if len(scores) < LEAST:
        return {"estimate": mean, "low": None, "high": None}
    spread = variance(scores, max(map(abs, scores)))
    half = t_quantile(len(scores) - 1) * math.sqrt(spread / len(scores))
    return {"estimate": mean, "low": mean - half, "high": mean + half}


def difference(one: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]) -> Data:
    """Return one trainer minus another over tasks of one scale, paired by seed: estimate, interval, probability."""
    means, errors, ways, freedom, free, alone = [], [], 1.0, 0.0, 0, False
    for task, scores in one.items():
        size = max(abs(x) for x in [*scores.values(), *other[task].values()])
        found = [scores[seed] - other[task][seed] for seed in scores]
        found = [0.0 if abs(d) <= ROUNDING * size else d for d in found]
        means.append(math.fsum(found) / len(found))
        alone = alone or len(found) < LEAST
        if alone:
            continue
        errors.append(variance(found, size) / len(found))
        free += len(found) - 1
        freedom += errors[-1] ** 2 / (len(found) - 1)
        if means[-1]:
            ways *= 2.0 ** len(found)
    estimate, total = math.fsum(means) / len(means), math.fsum(errors)
    if alone:  # one pair tells of no spread
        return {"estimate": estimate, "low": None, "high": None, "p": 1.0}
    if total == 0:
        one_sided = len({m > 0 for m in means if m}) == 1
        probability = min(1.0, 2 / ways) if one_sided else 1.0
        ends = (None, None) if estimate else (0.0, 0.0)
        return {"estimate": estimate, "low": ends[0], "high": ends[1], "p": probability}
    df = max(1, math.floor(total**2 / freedom + ROUNDING)) if freedom else free
    error = math.sqrt(total) / len(means)
    half = t_quantile(df) * error
    return {"estimate": estimate, "low": estimate - half, "high": estimate + half, "p": t_tails(estimate / error, df)}


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return Holm's adjusted probabilities."""
    order = sorted(range(len(probabilities)), key=lambda i: probabilities[i])
    found, highest = [0.0] * len(order), 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * probabilities[i]))
        found[i] = highest
    return found


def ranks_of(scores: Sequence[float]) -> list[float]:
    """Return ranks, 1 for the highest, equal ones sharing theirs."""
    return [1 + sum(x > own for x in scores) + (scores.count(own) - 1) / 2 for own in scores]


def gamma_tail(x: float, a: float) -> float:
    """Return the regularised upper incomplete gamma function."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 2000):
            term *= x / (a + n)
            total += term
        return 1 - front * total
    b, c = x + 1 - a, 1e300
    d = 1 / b
    total = d
    for n in range(1, 2000):
        top = -n * (n - a)
        b += 2
        d, c = 1 / (top * d + b), b + top / c
        total *= c * d
    return front * total


def normal_cdf(z: float) -> float:
    """Return P(Z <= z)."""
    return math.erfc(-z / math.sqrt(2)) / 2


def range_tail(width: float, groups: int) -> float:
    """Return the probability that independent standard normals span more than `width`, by the trapezoidal rule."""
    step, total = 1 / 64, 0.0
    for i in range(-8 * 64, 8 * 64 + 1):
        z = i * step
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        total += density * (normal_cdf(z + width) - normal_cdf(z)) ** (groups - 1)
    return 1 - groups * step * total


def compare_ranks(blocks: Sequence[Sequence[float]]) -> Data:
    """Return mean ranks, Friedman's probability and Nemenyi's critical difference (Demsar, 2006)."""
    n, k = len(blocks), len(blocks[0])
    rows = [ranks_of(block) for block in blocks]
    means = [math.fsum(column) / n for column in zip(*rows, strict=True)]
    ties = sum(count**3 - count for row in rows for count in Counter(row).values())
    top = 12 * math.fsum((n * mean - n * (k + 1) / 2) ** 2 for mean in means)
    bottom = n * k * (k + 1) - ties / (k - 1)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if range_tail(middle, k) > 1 - CONFIDENCE else (low, middle)
    return {
        "ranks": means,
        "blocks": n,
        "p": gamma_tail(top / bottom / 2, (k - 1) / 2) if bottom > 0 else 1.0,
        "critical": high / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n)),
    }


def figures(receipt: Receipt, reference: str) -> Data:
    """Return every figure of one run, computed from its results alone."""
    jobs = receipt.manifest["jobs"]
    tasks = list(dict.fromkeys(job["task_id"] for job in jobs))
    chosen = selected(jobs, receipt.results)

    def score(job: Data, result: Data, *, initial: bool = False) -> float | None:
        return counts(result, chosen=job["task_id"] in chosen, initial=initial)

    rows: dict[str, list[tuple[Data, Data]]] = {}
    for job in jobs:
        rows.setdefault(job["trainer_id"], []).append((job, receipt.results[job["job_id"]]))
    scores: dict[str, dict[str, dict[str, float]]] = {}
    ended: dict[str, Data] = {}
    apart: dict[str, dict[str, Data]] = {}
    for name, found in rows.items():
        good = [(j, x) for j, r in found if r["status"] in COUNTED and (x := score(j, r)) is not None]
        run = [r for _, r in found if not not_for_it(r)]
        ended[name] = {"jobs": len(found), "scored": len(good), "run": len(run), **(used(run) if run else {})}
        if len(good) == len(found):
            scores[name] = {t: {draw_of(j): x for j, x in good if j["task_id"] == t} for t in tasks}
        else:
            asked = Counter(j["task_id"] for j, _ in found)
            some = {t: [x for j, x in good if j["task_id"] == t] for t in tasks}
            apart |= {name: {t: mean_of(s) for t, s in some.items() if s and len(s) == asked[t]}}
    initial = {t: [score(j, r, initial=True) for j, r in rows[reference] if j["task_id"] == t] for t in tasks}
    whole = {t: [x for x in scores if x is not None and None not in scores] for t, scores in initial.items()}
    return {
        "tasks": tasks,
        "selected": [t for t in tasks if t in chosen],
        "draws": len({draw_of(j) for j, _ in rows[reference]}),
        "initial": {t: math.fsum(whole[t]) / len(whole[t]) if whole[t] else None for t in tasks},
        "ended": ended,
        "means": {n: {t: mean_of([*by[t].values()]) for t in tasks} for n, by in scores.items()},
        "apart": {n: by for n, by in apart.items() if by},
        "against": against(scores, tasks, reference),
        "overall": overall(scores, reference) if receipt.part["one_scale"] else None,
        "ranks": ranks(scores, tasks, by_draw=receipt.part["one_scale"]),
        "spent": receipt.spent,
        "seconds": math.fsum(r["time_seconds"] for found in rows.values() for _, r in found),
    }


def used(found: Sequence[Data]) -> Data:
    """Return what a trainer's jobs used on average."""
    mean = {
        axis: math.fsum(r["used"][axis] or 0 for r in found) / len(found)
        for axis in ("llm_calls", "evaluations", "usd")
    }
    return {**mean, "seconds": math.fsum(r["used"]["seconds"] for r in found) / len(found)}


def against(scores: Mapping[str, Any], tasks: Sequence[str], reference: str) -> Data:
    """Return each trainer minus the reference on each task, Holm over all of them."""
    keys = [(n, t) for n in scores for t in tasks if n != reference and reference in scores]
    found = [difference({t: scores[n][t]}, {t: scores[reference][t]}) for n, t in keys]
    adjusted = holm([d["p"] for d in found])
    told: Data = {}
    for (name, task), one, p in zip(keys, found, adjusted, strict=True):
        told.setdefault(name, {})[task] = {**one, "holm": p}
    return told


def overall(scores: Mapping[str, Any], reference: str) -> Data:
    """Return each trainer minus the reference over all tasks, which have one scale, Holm over the trainers."""
    names = [n for n in scores if n != reference and reference in scores]
    found = [difference(scores[n], scores[reference]) for n in names]
    return {n: {**d, "holm": p} for n, d, p in zip(names, found, holm([d["p"] for d in found]), strict=True)}


def ranks(scores: Mapping[str, Any], tasks: Sequence[str], *, by_draw: bool) -> Data | None:
    """Return mean ranks: each draw of a task a block where it is another field, else each task."""
    names = [*scores]
    if by_draw:
        blocks = [[scores[n][t][s] for n in names] for t in tasks for s in scores[names[0]][t]] if names else []
    else:
        blocks = [[math.fsum(scores[n][t].values()) / len(scores[n][t]) for n in names] for t in tasks]
    if min(len(names), len(blocks)) < LEAST:
        return None
    found = compare_ranks(blocks)
    return {**found, "ranks": dict(zip(names, found["ranks"], strict=True))}
