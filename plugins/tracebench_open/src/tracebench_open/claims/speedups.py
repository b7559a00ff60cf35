"""Solvers that were evolved for speed, judged by their benchmark's own judge and timed beside its own solver on the same problems."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from statistics import harmonic_mean
from typing import Any

from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found, Row, exactly, mean
from tracebench_open.claims.trees import Trees

FLOOR = 1.0
"""What the benchmark counts for a program whose answers are not valid."""
_TOLD: dict[tuple[str, str, int, int], Any] = {}
"""By source, task and sizes, what was measured in this process: several claims may be about the same solver."""


def validity(trees: Trees, cage: Cage, **where: Any) -> Found:
    """Return how many of the tasks have a program whose every answer the benchmark's judge accepts."""
    rows, good, versions = _judged(trees, cage, **where)
    return exactly(Fraction(sum(good.values())), rows=rows, versions=versions)


def score(trees: Trees, cage: Cage, **where: Any) -> Found:
    """Return the harmonic mean of the published speed-ups, an invalid program's counted as the benchmark counts it."""
    rows, good, versions = _judged(trees, cage, **where)
    said = {name: _published(trees, where["source"], where["folder"], name) for name in good}
    counted = [said[name] if ok else min(FLOOR, said[name]) for name, ok in good.items()]
    told = [
        f"The harmonic mean of the published speed-ups as they are is {harmonic_mean(list(said.values())):.3f}.",
        "Times are the authors'; only which answers are valid was asked again.",
    ]
    return exactly(Fraction(harmonic_mean(counted)), told=told, rows=rows, versions=versions)


def faster(trees: Trees, cage: Cage, *, task: str, **where: Any) -> Found:
    """Return by how much a program is faster than the benchmark's solver: the geometric mean over problems.

    A program with an answer that is not valid counts as the benchmark counts it.
    """
    told = _measured(trees, cage, task=task, kind=where["tasks"][task][0], size=where["tasks"][task][1], **_rest(where))
    logs = [math.log(row["reference"] / row["program"]) for row in told["rows"]]
    found = mean(logs)
    ends = [None if end is None else math.exp(float(end)) for end in (found.low, found.high)]
    valid = sum(row["valid"] for row in told["rows"])
    said = _published(trees, where["source"], where["folder"], task)
    words = [f"Published: {said:.2f}. The benchmark's judge accepts {valid} of {len(logs)} answers."]
    if valid < len(logs):
        words.append(
            f"Its time alone would give {math.exp(float(found.estimate)):.2f}; what is not valid counts as {FLOOR:g}."
        )
        return exactly(Fraction(FLOOR), told=words, versions=told["versions"])
    return Found(math.exp(float(found.estimate)), ends[0], ends[1], told=words, versions=told["versions"])


def _judged(trees: Trees, cage: Cage, **where: Any) -> tuple[list[Row], dict[str, bool], Mapping[str, str]]:
    rows: list[Row] = []
    good: dict[str, bool] = {}
    versions: dict[str, str] = {}
    for name, (kind, size) in where["tasks"].items():
        told = _measured(trees, cage, task=name, kind=kind, size=size, **_rest(where))
        valid, own, of = (sum(row[key] for row in told["rows"]) for key in ("valid", "own", "one"))
        good[name] = valid == of
        versions |= told["versions"]
        rows.append({
            "task": name,
            "published": f"{_published(trees, where['source'], where['folder'], name):.3f}",
            "valid by the benchmark": f"{valid} of {of}",
            "valid by the program's own judge": f"{own} of {of}",
        })  # fmt: skip
    return rows, good, versions


def _rest(where: Mapping[str, Any]) -> dict[str, Any]:
    return {name: where[name] for name in ("source", "judge", "folder", "problems", "runs")}


def _published(trees: Trees, source: str, folder: str, task: str) -> float:
    return float(json.loads(trees.text(source, f"{folder}{task}/best_program_info.json"))["metrics"]["speedup_score"])


def _measured(
    trees: Trees,
    cage: Cage,
    *,
    source: str,
    judge: str,
    folder: str,
    task: str,
    kind: str,
    size: int,
    problems: int,
    runs: int,
) -> Any:
    key = (source, task, problems, runs)
    if key not in _TOLD:
        given = {
            "program.py": trees.text(source, f"{folder}{task}/best_program.py"),
            "task.py": trees.text(judge, f"AlgoTuneTasks/{task}/{task}.py"),
        }
        told = cage.run("speedup", given, [kind, size, problems, runs], seed=0, seconds=600)
        for row in told["rows"]:
            row["one"] = 1
        _TOLD[key] = told
    return _TOLD[key]
