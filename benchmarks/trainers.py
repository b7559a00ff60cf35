"""Compare the search trainers on a level field: known tasks, a rule-based teacher for a model, equal budgets, many seeds.

`python benchmarks/trainers.py` prints the tables of docs/reference/trainers.md; `--seeds N` sets the number of seeds.
No language model is asked. The teacher improves a value with one probability and harms one with another, whatever it is
shown, so the tables compare what the trainers select and keep. They say nothing of prompts.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from level_fields import build_exam, build_valley

from tracebench_core.builtin.baselines import BestOfN, NoOp, SequentialRefine
from tracebench_core.builtin.settings import BestOfNSettings, NoOpSettings, SequentialRefineSettings
from tracebench_core.contracts import Problem, Trainer
from tracebench_core.specs import Budget, Evaluation, Values
from tracebench_core.specs.events import BestChanged, CandidateSeen
from tracebench_core.testing.teacher import Teacher
from tracebench_core.testing.toys import Toy, build_dials, build_number
from tracebench_core.testing.trials import Trial, run_trial
from tracebench_opto.trainers.specs import TRAINER_SPECS

RESAMPLES = 2000
MANY = 10_000
CALLS = {"number": 20, "valley": 60, "exam": 60}
"""Model calls of the second budget, by field; 100 where none are named."""
TEN = 10.0
"""Means from here on are printed without decimals."""


class Estimate(NamedTuple):
    """A mean with its 95 % interval (percentile bootstrap over seeds)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 0 if abs(self.mean) >= TEN else 2
        mean, low, high = (round(x, digits) + 0.0 for x in self)  # adding zero turns -0.0 into 0.0
        return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


@dataclass(frozen=True)
class Field:
    """A task, its noise-free twin that judges, and the budget."""

    title: str
    toy: Toy
    judge: Toy
    budget: Budget
    improves: float = 0.3
    harms: float = 0.5

    def run(self, build: Callable[[], Trainer], seed: int) -> Trial:
        """Run one trainer with one seed."""
        teacher = Teacher(self.toy.lesson, improves=self.improves, harms=self.harms, seed=seed)
        return run_trial(build(), self.toy, answer=teacher, budget=self.budget, seed=seed)

    def true_score(self, values: Values) -> float:
        """Return the noise-free mean score on test, or on train where the task has no test split."""
        task = self.judge.task
        examples = task.splits.get("test") or task.splits["train"]
        quiet: Any = Quiet()
        scores = [task.guide(e, task.run(values, e, quiet), quiet).score for e in examples]
        return math.fsum(scores) / len(scores)


class Quiet:
    """The context of a noise-free program: all that it reads is the seed."""

    seed = 0


def fields() -> list[Field]:
    """Return the level fields."""
    calm, noisy = build_dials(), build_dials(noise=1.0)
    many = build_dials(parameters=5, train=500, validation=0, spread=0.5)
    return [
        Field("number", build_number(), build_number(), Budget(evaluations=30, llm_calls=60)),
        Field("dials", calm, calm, Budget(evaluations=400, llm_calls=400)),
        Field("slow dials", build_dials(stride=0.5), calm, Budget(evaluations=400, llm_calls=400)),
        Field("noisy dials", noisy, calm, Budget(evaluations=600, llm_calls=600)),
        Field("exam", exam := build_exam(), exam, Budget(evaluations=1500, llm_calls=300)),
        Field("valley", valley := build_valley(), valley, Budget(evaluations=120, llm_calls=120)),
        Field("500 examples", many, build_dials(parameters=5), Budget(evaluations=1000, llm_calls=300)),
    ]


def builder(name: str, **settings: Any) -> Callable[[], Trainer]:
    """Return what builds one of our trainers."""
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    module = import_module(spec.loader.partition(":")[0])
    return lambda: module.build(module.Settings(**settings))


def baselines() -> dict[str, Callable[[], Trainer]]:
    """Return the core's baselines, as long as the budget lets them."""
    return {
        "NoOp": lambda: NoOp(NoOpSettings()),
        "BestOfN": lambda: BestOfN(BestOfNSettings(n=MANY)),
        "SequentialRefine": lambda: SequentialRefine(SequentialRefineSettings(num_steps=MANY)),
    }


class TenCopies:
    """PrioritySearch as OpenTrace runs it: ten copies of the seed sampled first, and samples that count one step late."""

    copies = 10

    def train(self, problem: Problem) -> None:
        """Search until the budget ends."""
        optimizer = problem.optimizer()
        with problem.step():
            sampled = [problem.evaluate(problem.initial) for _ in range(self.copies)]
        queue: list[Evaluation] = []
        while True:
            with problem.step():
                children = [v for evaluation in sampled for v in optimizer.propose([evaluation])]
                queue += [*sampled, *problem.evaluate_many(children)]
                queue.sort(key=lambda e: -(e.score if e.score is not None else -math.inf))
                explored, queue = queue[: self.copies], queue[self.copies :]
                sampled = problem.evaluate_many([e.candidate.values for e in explored])


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of per-seed values with its interval."""
    rng = random.Random(0)
    means = sorted(math.fsum(rng.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return Estimate(math.fsum(values) / len(values), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1])


def first_hit(field: Field, trial: Trial, *, target: float) -> int:
    """Return the evaluations used when the archive's best first truly reached the target; the whole budget if it never did."""
    values = {e.id: e.values for e in trial.events if isinstance(e, CandidateSeen)}
    for event in trial.events:
        if isinstance(event, BestChanged) and field.true_score(values[event.candidate]) >= target:
            return event.used.evaluations
    return field.budget.evaluations or 0


def by_calls(field: Field) -> Field:
    """Return the same field with its model calls capped alone, and so many evaluations that they do not bind."""
    return replace(field, budget=Budget(llm_calls=CALLS.get(field.title, 100)))


def level_field(seeds: int, *, only: Collection[str] = (), calls: bool = False) -> Iterator[str]:
    """Yield the table of final scores, of all trainers or of those in `only`, at equal evaluations or at equal calls."""
    all_fields = [by_calls(f) for f in fields()] if calls else fields()
    trainers = baselines() | {s.name: builder(s.name) for s in TRAINER_SPECS}
    trainers = {name: build for name, build in trainers.items() if not only or name in only}
    yield "| trainer | " + " | ".join(f"{f.title}" for f in all_fields) + " |"
    yield "|---|" + "---|" * len(all_fields)
    for name, build in trainers.items():
        cells = [str(estimate([f.true_score(f.run(build, s).best.values) for s in range(seeds)])) for f in all_fields]
        yield f"| {name} | " + " | ".join(cells) + " |"


def noise(seeds: int) -> Iterator[str]:
    """Yield the comparison of greedy and UCB under noise."""
    calm = build_dials(parameters=2)
    noisy = build_dials(parameters=2, train=4, validation=4, noise=1.0, stride=0.25)
    field = Field("noise", noisy, calm, Budget(evaluations=600, llm_calls=600))
    rows = {
        "PrioritySearch, `mean`": builder("PrioritySearch"),
        "PrioritySearch, `ucb`": builder("PrioritySearch", score_function="ucb"),
        "BasicSearch": builder("BasicSearch"),
        "UCBSearch": builder("UCBSearch"),
        "GEPA-Base": builder("GEPA-Base"),
        "GEPA-UCB": builder("GEPA-UCB"),
    }
    scores = {n: [field.true_score(field.run(b, s).best.values) for s in range(seeds)] for n, b in rows.items()}
    yield "| greedy | UCB | greedy score | UCB score | UCB minus greedy |"
    yield "|---|---|---|---|---|"
    names = list(rows)
    for greedy, bound in zip(names[::2], names[1::2], strict=True):
        gain = [b - a for a, b in zip(scores[greedy], scores[bound], strict=True)]
        yield f"| {greedy} | {bound} | {estimate(scores[greedy])} | {estimate(scores[bound])} | {estimate(gain)} |"


def acceptance(seeds: int) -> Iterator[str]:
    """Yield what GEPA's minibatch test saves."""
    toy = build_dials(validation=24)
    field = Field("acceptance", toy, toy, Budget(evaluations=2000, llm_calls=2000), improves=0.2, harms=0.6)
    target = -0.3
    yield f"| GEPA-Base | evaluations to reach {target} | final score |"
    yield "|---|---|---|"
    for title, test in (("with the minibatch test", True), ("without it", False)):
        build = builder("GEPA-Base", acceptance_test=test)
        trials = [field.run(build, s) for s in range(seeds)]
        hits = estimate([first_hit(field, t, target=target) for t in trials])
        yield f"| {title} | {hits} | {estimate([field.true_score(t.best.values) for t in trials])} |"


def ten_copies(seeds: int) -> Iterator[str]:
    """Yield the evaluations that a priority search needs on `internal:numeric_param`."""
    toy = build_number()
    field = Field("number", toy, toy, Budget(evaluations=300, llm_calls=300), improves=0.5, harms=0.3)
    rows = {
        "ours": builder("PrioritySearch"),
        "ours, 10 candidates": builder("PrioritySearch", num_candidates=10, num_proposals=1),
        "OpenTrace's behaviour": TenCopies,
    }
    yield "| PrioritySearch | evaluations to the target |"
    yield "|---|---|"
    for title, build in rows.items():
        hits = [first_hit(field, field.run(build, s), target=toy.target) for s in range(seeds)]
        yield f"| {title} | {estimate(hits)} |"


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="TRAINER", help="Rows of the first two tables; no others are printed."
    )
    given = parser.parse_args()
    seeds = given.seeds
    tables: dict[str, Callable[[int], Iterator[str]]] = {
        "Final score at equal budget": partial(level_field, only=given.only),
        "Final score at equal model calls": partial(level_field, only=given.only, calls=True),
        "UCB under noise": noise,
        "GEPA's minibatch test": acceptance,
        "PrioritySearch on internal:numeric_param": ten_copies,
    }
    if given.only:
        tables = {title: table for title, table in tables.items() if title.startswith("Final score")}
    for title, table in tables.items():
        print(f"\n## {title} ({seeds} seeds, mean and 95 % interval)\n")
        for line in table(seeds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
