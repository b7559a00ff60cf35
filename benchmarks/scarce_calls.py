"""What a trainer makes of twenty model calls where evaluations are free, with tests of both sizes.

`python benchmarks/scarce_calls.py [--seeds 20] [--calls 20]` prints, for two open fields of right or wrong examples (`fields:prompt`
and `fields:agents`, large, half of what helps does so in pairs alone), the true score of what each trainer returned, its ratio to that
of `BestOfN` with the same seeds, the paired difference with its 95 % interval, and how many jobs returned what they were given. The
model is the scripted one: 35 of 100 answers improve, 45 harm. Each seed is another field.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from statistics import fmean, stdev
from typing import NamedTuple

from trainer_trials import MANY, builder

from tracebench_core.contracts import Trainer
from tracebench_core.specs import Budget
from tracebench_core.specs.events import CandidateSeen, Scored
from tracebench_engine.builtin.baselines import BestOfN, NoOp, RandomSearch
from tracebench_engine.builtin.settings import BestOfNSettings, NoOpSettings, RandomSearchSettings
from tracebench_fields.field import Case
from tracebench_fields.task import FieldOptions, FieldTask
from tracebench_testing.teacher import Lesson, Teacher
from tracebench_testing.toys import Toy
from tracebench_testing.trials import run_trial

REFERENCE = "BestOfN"
TESTED = ("Minibatch", "SequentialSearch", "AggregatedUpdate", "GEPA-Base", "GEPA-UCB", "GEPA-Beam")
"""Those that have both variants."""
OTHERS = ("Adaptive", "UCBSearch", "Anneal")
FIELDS = ("prompt", "agents")
IMPROVES, HARMS = 0.35, 0.45


class Returned(NamedTuple):
    """The true score of what a job returned, and whether that is what it was given."""

    score: float
    is_initial: bool


def rows() -> dict[str, Callable[[], Trainer]]:
    """Return what is compared, by the name that the table shows."""
    made: dict[str, Callable[[], Trainer]] = {
        "NoOp": lambda: NoOp(NoOpSettings()),
        "RandomSearch": lambda: RandomSearch(RandomSearchSettings(num_steps=20)),
        REFERENCE: lambda: BestOfN(BestOfNSettings(n=MANY)),
        **{name: builder(name) for name in OTHERS},
        "BasicSearch, paper": builder("BasicSearch", variant="paper"),
    }
    for name in TESTED:
        made[f"{name}, paper"] = builder(name, variant="paper")
        made[name] = builder(name)
    return made


def trial(build: Callable[[], Trainer], family: str, *, seed: int, calls: int) -> Returned:
    """Run one job on the field of a seed.

    Raises:
        RuntimeError: when the trainer failed.
    """
    task = FieldTask(
        family, FieldOptions(instance=seed, size="large", deception=0.5, num_train=60, num_validate=60, num_test=400)
    )
    held_out = task.splits["test"]
    task.splits = {split: examples for split, examples in task.splits.items() if split != "test"}
    toy = Toy(family, task, Lesson(task.field.improve, task.field.harm), target=1.0, worst_score=0.0)  # type: ignore[arg-type]  # a task
    teacher = Teacher(toy.lesson, improves=IMPROVES, harms=HARMS, seed=seed)
    done = run_trial(build(), toy, answer=teacher, budget=Budget(llm_calls=calls), seed=seed)
    if done.error is not None:
        raise RuntimeError(f"{family}, seed {seed}: {done.error!r}") from done.error
    best = next(e.candidate for e in done.events if isinstance(e, Scored) and e.what == "best")
    values = next(e.values for e in done.events if isinstance(e, CandidateSeen) and e.id == best)
    output = task.field.output(values, None, None)  # type: ignore[arg-type]  # these families read neither input nor context
    score = fmean(task.field.verdict(Case(e.input, e.reference), output).score for e in held_out)
    return Returned(score, best == "c0")


def interval(differences: list[float]) -> str:
    """Return the mean of paired differences with its 95 % t interval (normal above 30 pairs)."""
    quantile = {5: 2.776, 10: 2.262, 20: 2.093, 30: 2.045}.get(
        len(differences), 1.96 if len(differences) > 30 else 2.776
    )
    half = quantile * stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else math.nan
    mean = fmean(differences)
    return f"{mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]"


def table(family: str, *, seeds: int, calls: int) -> Iterator[str]:
    """Yield the table of a field."""
    yield f"| `fields:{family}`, {calls} calls | score | to {REFERENCE} | paired with {REFERENCE} | returned the initial one |"
    yield "|---|---|---|---|---|"
    found = {name: [trial(build, family, seed=s, calls=calls) for s in range(seeds)] for name, build in rows().items()}
    base = [r.score for r in found[REFERENCE]]
    for name, returned in sorted(found.items(), key=lambda item: -fmean(r.score for r in item[1])):
        scores = [r.score for r in returned]
        paired = "" if name == REFERENCE else interval([a - b for a, b in zip(scores, base, strict=True)])
        ratio = fmean(scores) / fmean(base)
        yield f"| {name} | {fmean(scores):.3f} | {ratio:.2f} | {paired} | {sum(r.is_initial for r in returned)} of {seeds} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--fields", nargs="+", choices=FIELDS, default=FIELDS)
    asked = parser.parse_args()
    for family in asked.fields:
        for line in table(family, seeds=asked.seeds, calls=asked.calls):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
