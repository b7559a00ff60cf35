"""A field as a task: its examples, its noise, its costs, and the cases by which it is calibrated."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from pydantic import Field as Setting

from tracebench_core.contracts import Context
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, Split, TaskSizes, Values
from tracebench_core.specs.base import Spec
from tracebench_fields.drawing import Drawing, draw
from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Case, Size
from tracebench_fields.releases import OPEN

COSTLIEST = 60.0


class FieldOptions(Spec):
    """Which field of the family it is, and how hard it is made."""

    release: str = OPEN
    """Whose secret it is drawn from."""
    instance: int = Setting(default=0, ge=0)
    """Another number is another field of the same kind."""
    size: Size = "medium"
    deception: float = Setting(default=0.25, ge=0, le=1)
    """How much the field misleads; `trace-bench list-tasks fields:NAME` says by what."""
    noise: float | None = Setting(default=None, ge=0, le=1)
    """In train and validation: the probability that a pass counts as a failure and the other way round, or the standard deviation of a
    grade. The test is judged without noise. None is the family's own."""
    seconds: float = Setting(default=0.0, ge=0, le=COSTLIEST)
    """What an evaluation costs, in seconds."""
    num_train: int = Setting(default=40, ge=1, le=100_000)
    num_validate: int = Setting(default=40, ge=0, le=100_000)
    num_test: int = Setting(default=200, ge=0, le=100_000)


def drawing_of(task: str, options: Mapping[str, Any]) -> Drawing | None:
    """Return what a task's options draw a field by, or None where the task is no field."""
    family = task.removeprefix("fields:")
    if family == task or family not in FAMILIES:
        return None
    given = FieldOptions.model_validate(options)
    return Drawing(family, given.release, given.instance, given.size, given.deception)


class FieldTask:
    """One drawn field."""

    def __init__(self, family: str, options: FieldOptions) -> None:
        self._family = FAMILIES[family]
        self._drawing = Drawing(family, options.release, options.instance, options.size, options.deception)
        self.field = draw(self._drawing)
        self._noise = self._family.noise if options.noise is None else options.noise
        self._seconds = options.seconds
        self.objective = f"{self._drawing.label} {self.field.objective}"
        self.parameters: Sequence[Parameter] = self.field.parameters
        sizes: dict[Split, int] = {
            "train": options.num_train,
            "validation": options.num_validate,
            "test": options.num_test,
        }
        self.splits: Mapping[Split, Sequence[Example]] = {s: self._examples(s, n) for s, n in sizes.items() if n}

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Run the candidate; that is what costs time."""
        if self._seconds:
            left = context.deadline
            time.sleep(self._seconds if left is None else min(self._seconds, left))
        return self.field.output(values, example.input, context)

    def guide(self, example: Example, output: Any, context: Context, /) -> Feedback:
        """Judge without noise on test, with it elsewhere."""
        feedback = self.field.verdict(Case(example.input, example.reference), output)
        if not self._noise or example.id.startswith("test"):
            return feedback
        rng = random.Random(context.seed)  # noqa: S311 - reproducible, not secret
        noise = self._noise * self.field.spread(Case(example.input, example.reference), output)
        if self._family.graded:
            return feedback.model_copy(update={"score": min(1.0, max(0.0, feedback.score + rng.gauss(0.0, noise)))})
        turned = rng.random() < noise
        return feedback.model_copy(update={"score": 1.0 - feedback.score}) if turned else feedback

    def expected(self, values: Values, context: Context) -> float:
        """Return the mean score on test, which has no noise."""
        scores = [
            self.guide(e, self.field.output(values, e.input, context), context).score for e in self.splits["test"]
        ]
        return fmean(scores)

    def calibrations(self) -> Sequence[Calibration]:
        """The optimum is the best there is, and programs that forge are not."""
        source = "by construction: the optimum is drawn first, or found by trying all"
        if "test" not in self.splits:
            return ()
        if self._family.name == "conflict":  # no position serves all examples, so the best does not score 1
            best = Calibration(
                name="optimum", kind="order", values=self.field.optimum, other="start", split="test", source=source
            )
            return (best, Calibration(name="start", kind="anchor", split="test"))
        optimum = Calibration(
            name="optimum",
            kind="gold",
            values=self.field.optimum,
            split="test",
            expected=1.0,
            abs_tol=1e-9,
            source=source,
        )
        return (optimum, *_forged(self._family.name))

    def _examples(self, split: Split, size: int) -> Sequence[Example]:
        rng = self._drawing.rng(split)
        cases = [self.field.case(split, rng) for _ in range(size)]
        return tuple(Example(id=f"{split}-{i}", input=c.input, reference=c.reference) for i, c in enumerate(cases))


def _forged(family: str) -> Sequence[Calibration]:
    if family == "formula":
        return _cases("formula", {"leaves early": "__import__('os')._exit(0)", "never ends": "9 ** 9 ** 9 ** 9"})
    if family != "code":
        return ()
    programs = {
        "equal to everything": "class Any(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n\n\n"
        "def answer(x):\n    return Any()\n",
        "leaves early": "import os\n\n\ndef answer(x):\n    os._exit(0)\n",
        "prints a score": "def answer(x):\n    print('{\"score\": 1.0}')\n",
    }
    return _cases("code", programs)


def _cases(parameter: str, texts: Mapping[str, str]) -> Sequence[Calibration]:
    return tuple(
        Calibration(name=name, kind="forged", values={parameter: text}, split="test", other="optimum")
        for name, text in texts.items()
    )


def build(family: str, **options: Any) -> FieldTask:
    """Build the task of a family."""
    return FieldTask(family, FieldOptions(**options))


def sizes_of(family: str, given: Mapping[str, Any]) -> TaskSizes:
    """Return how large a field of these options is; its parameters are as many whatever is drawn."""
    options = FieldOptions(**given)
    count = len(FAMILIES[family].draw(random.Random(0), options.size, 0.0).parameters)  # noqa: S311 - counted, not kept
    return TaskSizes(parameters=count, train=options.num_train, validation=options.num_validate, test=options.num_test)
