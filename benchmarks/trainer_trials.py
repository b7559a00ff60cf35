"""Trials of the search trainers on the level fields: what a job returned, what it might have returned, and its curve.

A trial is kept in a file of its field as soon as it is over, so that a table that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from level_fields import build_conflict, build_exam, build_packing, build_valley, packing_scale
from pydantic import BaseModel

from tracebench_core.contracts import Trainer
from tracebench_core.specs import Budget, Example, Values
from tracebench_core.specs.events import BestChanged, Scored
from tracebench_engine.builtin.baselines import BestOfN, NoOp, SequentialRefine
from tracebench_engine.builtin.settings import BestOfNSettings, NoOpSettings, SequentialRefineSettings
from tracebench_opto.trainers.specs import TRAINER_SPECS
from tracebench_runs.events.history import Standings
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import Toy, build_dials, build_number
from tracebench_testing.trials import Trial, run_trial

MANY = 10_000
CALLS = {"number": 20, "deceptive": 60, "exam": 60, "code": 40, "minibatch": 30}
"""Model calls of the second budget, by field; 100 where none are named."""
Axis = Literal["evaluations", "calls"]


class Quiet:
    """The context of a noise-free program: all that it reads is the seed."""

    seed = 0


@dataclass
class Field:
    """A task, its noise-free twin that judges, and the budget."""

    title: str
    toy: Toy
    judge: Toy
    budget: Budget
    improves: float = 0.3
    harms: float = 0.5
    scale: float = 1.0
    """From the initial candidate to the ideal, where scores are no shares."""
    _known: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def run(self, build: Callable[[], Trainer], seed: int) -> Trial:
        """Run one trainer with one seed."""
        teacher = Teacher(self.toy.lesson, improves=self.improves, harms=self.harms, seed=seed)
        return run_trial(build(), self.toy, answer=teacher, budget=self.budget, seed=seed)

    def returned_score(self, trial: Trial) -> float:
        """Return the noise-free score of the candidate that a job returns: the one that the engine chose on validation."""
        best = next(e.candidate for e in trial.events if isinstance(e, Scored) and e.what == "best")
        return self.true_score(next(c.values for c in trial.candidates if c.id == best))

    def true_score(self, values: Values) -> float:
        """Return the noise-free mean score on test, or on train where the task has no test split."""
        examples = self.held_out
        by_input: dict[str, list[Example]] = defaultdict(list)
        for example in examples:
            by_input[str(example.input)].append(example)
        return math.fsum(self._part(values, name, part) for name, part in by_input.items()) / len(examples)

    @property
    def held_out(self) -> Sequence[Example]:
        """The examples that say how good a candidate truly is."""
        splits = self.judge.task.splits
        return splits.get("test") or splits["train"]

    def _part(self, values: Values, name: str, examples: Sequence[Example]) -> float:
        """Return the sum over examples of one input, which asks for one parameter where it bears its name."""
        key = name, repr(values.get(name, values))
        if key not in self._known:
            task, quiet = self.judge.task, Quiet()
            scores = [task.guide(e, task.run(values, e, quiet), quiet).score for e in examples]  # type: ignore[arg-type]
            self._known[key] = math.fsum(scores)
        return self._known[key]


class Outcome(BaseModel):
    """What a trial is kept as."""

    trainer: str
    seed: int
    score: float
    """Of the returned candidate, noise-free, on the held-out examples."""
    chosen_by: float | None
    """The score by which the engine chose it."""
    best_seen: float
    """The best held-out score among all candidates of the job."""
    best_compared: float | None = None
    """The same among those that it measured on its whole comparison set, or was measuring at its end.

    None in trials of an earlier version.
    """
    evaluations: int
    calls: int
    curve: list[tuple[int, int, float]]
    """Evaluations, calls and held-out score at every new best candidate."""


FIELDS: dict[str, Callable[[], tuple[Toy, Toy, Budget, float]]] = {
    "number": lambda: (build_number(), build_number(), Budget(evaluations=30, llm_calls=60), 3.0),
    "dials": lambda: (build_dials(), build_dials(), Budget(evaluations=400, llm_calls=400), 2.5),
    "slow dials": lambda: (build_dials(stride=0.5), build_dials(), Budget(evaluations=400, llm_calls=400), 2.5),
    "noisy dials": lambda: (build_dials(noise=1.0), build_dials(), Budget(evaluations=600, llm_calls=600), 2.5),
    "minibatch": lambda: (
        build_dials(parameters=5, train=500, validation=0, spread=0.5),
        build_dials(parameters=5, test=1000, spread=0.5),
        Budget(evaluations=1000, llm_calls=300),
        2.6,
    ),
    "deceptive": lambda: (build_valley(), build_valley(), Budget(evaluations=120, llm_calls=120), 1.0),
    "conflicting": lambda: (build_conflict(), build_conflict(), Budget(evaluations=400, llm_calls=200), 2.4),
    "exam": lambda: (build_exam(), build_exam(), Budget(evaluations=1500, llm_calls=300), 1.0),
    "code": lambda: (build_packing(), build_packing(), Budget(evaluations=120, llm_calls=120), packing_scale()),
}
"""By title the task, its noise-free twin, the budget, and what lies between the initial candidate and the ideal; 1 for shares."""


@cache
def field_of(title: str) -> Field:
    """Return a level field."""
    toy, judge, budget, scale = FIELDS[title]()
    return Field(title, toy, judge, budget, scale=scale)


def at_budget(field: Field, axis: Axis) -> Field:
    """Return a field at the budget of an axis; with calls capped alone, evaluations do not bind."""
    return field if axis == "evaluations" else replace(field, budget=Budget(llm_calls=CALLS.get(field.title, 100)))


def builder(name: str, **settings: Any) -> Callable[[], Trainer]:
    """Return what builds one of our trainers."""
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    module = import_module(spec.loader.partition(":")[0])
    return lambda: module.build(module.Settings(**settings))


def has_variant(name: str) -> bool:
    """Tell whether one of our trainers has the sizes of its publication as a variant; `benchmarks/field_tables.py` shows both."""
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    return "variant" in import_module(spec.loader.partition(":")[0]).Settings.model_fields


def trainers() -> dict[str, Callable[[], Trainer]]:
    """Return the core's baselines, as long as the budget lets them, and our trainers."""
    return {
        "NoOp": lambda: NoOp(NoOpSettings()),
        "BestOfN": lambda: BestOfN(BestOfNSettings(n=MANY)),
        "SequentialRefine": lambda: SequentialRefine(SequentialRefineSettings(num_steps=MANY)),
        **{s.name: builder(s.name, **({"variant": "paper"} if has_variant(s.name) else {})) for s in TRAINER_SPECS},
    }


def outcome(field: Field, trainer: str, build: Callable[[], Trainer], seed: int) -> Outcome:
    """Run one trial and judge it.

    Raises:
        RuntimeError: when the trainer failed.
    """
    trial = field.run(build, seed)
    if trial.error is not None:
        raise RuntimeError(f"{trainer} on {field.title}, seed {seed}: {trial.error!r}") from trial.error
    truth = {c.id: field.true_score(c.values) for c in trial.candidates}
    best = next(e for e in trial.events if isinstance(e, Scored) and e.what == "best")
    standings = Standings()
    for event in trial.events:
        standings.add(event)
    curve = [(0, 0, truth["c0"])]
    curve += [
        (e.used.evaluations, e.used.llm_calls, truth[e.candidate]) for e in trial.events if isinstance(e, BestChanged)
    ]
    return Outcome(
        trainer=trainer,
        seed=seed,
        score=truth[best.candidate],
        chosen_by=trial.score("best"),
        best_seen=max(truth.values()),
        best_compared=max(truth[id_] for id_ in standings.finalists(len(truth))),
        evaluations=trial.used.evaluations,
        calls=trial.used.llm_calls,
        curve=curve,
    )


class Kept:
    """The outcomes of one field at one budget, in a file that grows by a line a trial."""

    def __init__(self, folder: Path, field: Field, axis: Axis) -> None:
        self.field = at_budget(field, axis)
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{field.title.replace(' ', '-')}.{axis}.jsonl"
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self._known = {(o.trainer, o.seed): o for o in map(Outcome.model_validate_json, lines)}

    def outcomes(self, trainer: str, build: Callable[[], Trainer], seeds: Sequence[int]) -> Iterator[Outcome]:
        """Yield a trainer's outcomes; those that are not there yet are made now."""
        for seed in seeds:
            if (trainer, seed) not in self._known:
                self._known[trainer, seed] = made = outcome(self.field, trainer, build, seed)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(made.model_dump()) + "\n")
            yield self._known[trainer, seed]
