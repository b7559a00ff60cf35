"""How often a job stays within what `plan` foretold: `python benchmarks/plan_coverage.py [--seeds N] [--trainers …] [--budgets …]`.

Each column (task x trainer x budget) is planned and run twice in stub mode: `new`, where no past run tells anything, and `known`, with
other seeds, where the first run is the past. A job is covered on an axis when what it used lies in the planned [low, high]. The
baseline of an interval is the point in its middle: how often `likely` alone is right within 10 %.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_engine import api
from tracebench_engine.config import parse_config

TASKS = ("internal:numeric_param", "internal:code_param", "internal:multi_param")
TRAINERS = ("NoOp", "RandomSearch", "BestOfN", "SequentialRefine", "PrioritySearch", "KeepBest")
BUDGETS: dict[str, dict[str, float]] = {
    "none": {},
    "evaluations": {"evaluations": 30},
    "calls": {"llm_calls": 8},
    "tokens": {"tokens": 6000},
}
AXES = ("evaluations", "llm_calls", "tokens")
NEAR = 0.1


class Case(NamedTuple):
    """One job on one axis."""

    when: str
    trainer: str
    budget: str
    axis: str
    low: float
    likely: float
    high: float
    used: float

    @property
    def is_covered(self) -> bool:
        return self.low <= self.used <= self.high

    @property
    def is_near(self) -> bool:
        return abs(self.used - self.likely) <= NEAR * max(self.used, 1.0)


def cases(folder: Path, *, budget: str, trainers: tuple[str, ...], seeds: int) -> Iterator[Case]:
    """Plan and run all columns of one budget, and yield what was foretold beside what was used."""
    for when, first in (("new", 1), ("known", 1 + seeds)):
        config = parse_config(
            {
                "tasks": list(TASKS),
                "trainers": list(trainers),
                "seeds": list(range(first, first + seeds)),
                "budget": BUDGETS[budget],
                "runs_dir": str(folder / budget),
                "max_workers": 2,
            }
        )
        forecast = api.estimate(config)
        run = api.load_run(api.run(config, stream=io.StringIO()).run_dir)
        for job in run.planned:
            result = run.results[job.job_id]
            if result.status != "ok":
                continue
            amounts = forecast.run.jobs[job.job_id].amounts
            scoring: Any = result.usage_selection  # the plan's calls and tokens hold those of the engine's own scoring
            for axis in AXES:
                bounds = [getattr(getattr(amounts, level), axis) for level in ("low", "likely", "high")]
                if None not in bounds:
                    used = getattr(result.used, axis) + (0 if axis == "evaluations" else getattr(scoring, axis))
                    yield Case(when, job.trainer_id, budget, axis, *bounds, used)


def table(found: list[Case], by: str) -> None:
    """Print coverage by one field."""
    for when in ("new", "known"):
        for name in dict.fromkeys(getattr(case, by) for case in found):
            chosen = [case for case in found if case.when == when and getattr(case, by) == name]
            if chosen:
                covered, near = sum(c.is_covered for c in chosen), sum(c.is_near for c in chosen)
                print(
                    f"  {when:6} {name:18} {covered:4} of {len(chosen):4} within [low, high]: {100 * covered / len(chosen):5.1f} %;"
                    f"  likely alone, within 10 %: {100 * near / len(chosen):5.1f} %"
                )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each of the two runs")
    parser.add_argument("--trainers", nargs="+", default=list(TRAINERS))
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [
            case
            for budget in chosen.budgets
            for case in cases(Path(folder), budget=budget, trainers=tuple(chosen.trainers), seeds=chosen.seeds)
        ]
    for by in ("axis", "budget", "trainer"):
        print(f"by {by}:")
        table(found, by)
    missed = Counter((c.when, c.trainer, c.budget, c.axis) for c in found if not c.is_covered)
    for (when, trainer, budget, axis), number in missed.most_common(20):
        one = next(
            c
            for c in found
            if not c.is_covered and (c.when, c.trainer, c.budget, c.axis) == (when, trainer, budget, axis)
        )
        print(
            f"missed {number}x: {when} {trainer}, budget {budget}, {axis}: [{one.low:g}, {one.high:g}], used {one.used:g}"
        )
    for when in ("new", "known", "both"):
        chosen_cases = [case for case in found if when in {case.when, "both"}]
        covered = sum(case.is_covered for case in chosen_cases)
        print(
            f"coverage, {when}: {covered} of {len(chosen_cases)} = {100 * covered / len(chosen_cases):.1f} % (goal 90 %)"
        )


if __name__ == "__main__":
    main()
