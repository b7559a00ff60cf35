"""Trials of trainers on drawn fields: what a job returned, what it might have returned, and what it used.

A trial is kept as soon as it is over, one line in the file of its family and budget, so that a table that was interrupted goes on where it
was. Each line names the commit it was made at.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel
from trainer_trials import builder, has_variant

from tracebench_core.contracts import Trainer
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Budget, Example, Values
from tracebench_core.specs.events import Scored
from tracebench_engine.builtin.baselines import BestOfN, NoOp, RandomSearch, SequentialRefine
from tracebench_engine.builtin.settings import (
    BestOfNSettings,
    NoOpSettings,
    RandomSearchSettings,
    SequentialRefineSettings,
)
from tracebench_fields.field import Case
from tracebench_fields.task import FieldOptions, FieldTask
from tracebench_opto.trainers.specs import TRAINER_SPECS
from tracebench_testing.teacher import Lesson, Teacher
from tracebench_testing.toys import Toy
from tracebench_testing.trials import Trial, run_trial

IMPROVES, HARMS = 0.35, 0.45
"""Of 100 answers of the scripted model, those that are better and worse by a step; the others change nothing."""
PER_CALL = 40
"""Evaluations that go with each call: each proposal can be measured once on all of validation."""
NUM_TEST = 200
BASELINES: dict[str, Callable[[], Trainer]] = {
    "NoOp": lambda: NoOp(NoOpSettings()),
    "RandomSearch": lambda: RandomSearch(RandomSearchSettings()),
    "BestOfN": lambda: BestOfN(BestOfNSettings()),
    "SequentialRefine": lambda: SequentialRefine(SequentialRefineSettings()),
}
"""The core's own, each as long as the budget lasts."""


class Cell(NamedTuple):
    """What is equal in a comparison: the family, its release, and the budget."""

    family: str
    calls: int
    release: str
    per_call: int | None
    """Evaluations for each call; None where they are free."""

    @property
    def budget(self) -> Budget:
        """Both caps."""
        return Budget(llm_calls=self.calls, evaluations=None if self.per_call is None else self.per_call * self.calls)

    @property
    def file(self) -> str:
        """Where its trials are kept."""
        return f"{self.family}.{self.release}.{self.calls}-calls.{self.per_call or 'free'}.jsonl"


class Outcome(BaseModel):
    """What a trial is kept as. All scores are of the held-out examples, without noise."""

    trainer: str
    seed: int
    score: float
    """Of the returned candidate."""
    initial: float
    best_made: float
    """Of the best candidate of the job."""
    optimum: float
    is_initial: bool
    """Whether the job returned what it was given."""
    candidates: int
    evaluations: int
    calls: int
    seconds: float
    """Of this process."""
    commit: str


class InProcess:
    """Stands in for the sandbox on `code`: its candidates are the script's own, a table and a look-up.

    A call of the sandbox takes thousands of times as long. `check_code` tells that trials come out alike.
    """

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def call(self, text: str, name: str, given: Any, *, limits: object) -> Any:
        """Return what the function returns, as the sandbox's answer."""
        del limits
        if text not in self._made:
            space: dict[str, Any] = {}
            try:
                exec(compile(text, "<candidate>", "exec"), space)
            except Exception as err:  # noqa: BLE001 - whatever it is, it does not run
                self._made[text] = err
            else:
                self._made[text] = space.get(name)
        made = self._made[text]
        try:
            return _Answer("ok", made(given), "")
        except Exception as err:  # noqa: BLE001 - it returns nothing
            return _Answer("error", None, repr(made if isinstance(made, Exception) else err))


class _Answer(NamedTuple):
    status: Literal["ok", "error"]
    value: Any
    error: str


class _Here:
    """The context of a program that is run in this process."""

    def __init__(self) -> None:
        self.sandbox = InProcess()
        self.seed = 0
        self.deadline = None


class SwiftTask(FieldTask):
    """A field whose code runs in this process."""

    def __init__(self, family: str, options: FieldOptions) -> None:
        super().__init__(family, options)
        self._here: Any = _Here()

    def run(self, values: Values, example: Example, context: Any) -> Any:
        """Run the candidate without the sandbox."""
        del context
        return self.field.output(values, example.input, self._here)

    def truth(self, values: Values, examples: Sequence[Example]) -> float:
        """Return the mean verdict on held-out examples; 0 counts for those without an output."""
        return fmean(self._verdict(values, e) for e in examples)

    def _verdict(self, values: Values, example: Example) -> float:
        try:
            output = self.field.output(values, example.input, self._here)
        except Exception:  # noqa: BLE001 - it has no output
            return 0.0
        return self.field.verdict(Case(example.input, example.reference), output).score


def rows(names: Sequence[str] = ()) -> dict[str, Callable[[], Trainer]]:
    """Return what is compared, by the name that the tables show; all of it, or those named.

    Raises:
        SystemExit: there is none of a name.
    """
    made = dict(BASELINES)
    for spec in TRAINER_SPECS:
        made[spec.name] = builder(spec.name)
        if has_variant(spec.name):
            made[f"{spec.name}, paper"] = builder(spec.name, variant="paper")
    if unknown := [name for name in names if name not in made]:
        raise SystemExit(f"no row is called {unknown[0]!r}; there are {', '.join(made)}")
    return {name: made[name] for name in names} if names else made


def run(build: Callable[[], Trainer], cell: Cell, seed: int, *, task: FieldTask) -> Trial:
    """Run one job on the field of a seed."""
    toy = Toy(cell.family, task, Lesson(task.field.improve, task.field.harm), target=1.0, worst_score=0.0)  # type: ignore[arg-type]  # a task
    teacher = Teacher(toy.lesson, improves=IMPROVES, harms=HARMS, seed=seed)
    return run_trial(build(), toy, answer=teacher, budget=cell.budget, seed=seed)


def task_of(cell: Cell, seed: int, *, kind: type[FieldTask] = SwiftTask, num_test: int = NUM_TEST) -> FieldTask:
    """Return the field of a seed."""
    return kind(cell.family, FieldOptions(release=cell.release, instance=seed, num_test=num_test))


def outcome(trainer: str, build: Callable[[], Trainer], cell: Cell, seed: int, *, commit: str) -> Outcome:
    """Run one trial and judge it.

    Raises:
        RuntimeError: when the trainer failed.
    """
    task = task_of(cell, seed)
    assert isinstance(task, SwiftTask)
    held_out = task.splits["test"]
    task.splits = {split: examples for split, examples in task.splits.items() if split != "test"}
    began = time.process_time()
    trial = run(build, cell, seed, task=task)
    seconds = time.process_time() - began
    if trial.error is not None:
        raise RuntimeError(f"{trainer} on {cell.family}, seed {seed}: {trial.error!r}") from trial.error
    truth: dict[bytes, float] = {}
    by_id: dict[str, float] = {}
    for candidate in trial.candidates:
        key = canonical_json(candidate.values)
        if key not in truth:
            truth[key] = task.truth(candidate.values, held_out)
        by_id[candidate.id] = truth[key]
    best = next(e.candidate for e in trial.events if isinstance(e, Scored) and e.what == "best")
    return Outcome(
        trainer=trainer,
        seed=seed,
        score=by_id[best],
        initial=by_id["c0"],
        best_made=max(by_id.values()),
        optimum=task.truth(task.field.optimum, held_out),
        is_initial=best == "c0",
        candidates=len(trial.candidates),
        evaluations=trial.used.evaluations,
        calls=trial.used.llm_calls,
        seconds=round(seconds, 3),
        commit=commit,
    )


class Kept:
    """The outcomes of one cell, in a file that grows by a line a trial."""

    def __init__(self, folder: Path, cell: Cell) -> None:
        self.cell = cell
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / cell.file
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True) if self._path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < len(lines):  # cut off while it was written
            self._path.write_text("".join(whole), encoding="utf-8")
        self.known = {(o.trainer, o.seed): o for o in map(Outcome.model_validate_json, whole)}

    def make(
        self, trainer: str, build: Callable[[], Trainer], seeds: Sequence[int], *, commit: str
    ) -> Iterator[Outcome]:
        """Yield a trainer's outcomes; those that are not there yet are made now."""
        for seed in seeds:
            if (trainer, seed) not in self.known:
                self.known[trainer, seed] = made = outcome(trainer, build, self.cell, seed, commit=commit)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(made.model_dump_json() + "\n")
            yield self.known[trainer, seed]


def this_commit() -> str:
    """Return the commit of the tree that runs, with `+` where the tree differs from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")


def check_code(seeds: Sequence[int], calls: int) -> Iterator[str]:
    """Yield, for jobs on `code`, whether they come out the same with the sandbox and in this process."""
    cell = Cell("code", calls, "open", PER_CALL)
    for name in ("BestOfN", "RandomSearch", "Adaptive"):
        build = rows([name])[name]
        alike = 0
        for seed in seeds:
            both = [
                run(build, cell, seed, task=task_of(cell, seed, kind=kind, num_test=0))
                for kind in (FieldTask, SwiftTask)
            ]
            scores = [
                [e.model_dump(include={"what", "split", "score"}) for e in t.events if isinstance(e, Scored)]
                for t in both
            ]
            made = [[(c.id, c.values) for c in t.candidates] for t in both]
            alike += scores[0] == scores[1] and made[0] == made[1]
        yield f"{name}: {alike} of {len(seeds)} jobs alike, candidate by candidate and score by score"
