"""Each check passes for a sound trainer and fails for one with just the fault that it looks for."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress

import pytest
from tests.whole import HEAVY

from tracebench_core.contracts import Problem, Trainer
from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.specs import Evaluation
from tracebench_engine.builtin.baselines import NoOp
from tracebench_engine.builtin.settings import NoOpSettings
from tracebench_testing import TRAINER_CHECKS, Subject, TrainerConformance, check_trainer
from tracebench_testing import trainer_checks as checks


class Sound:
    """A hill climber with everything that the checks ask for."""

    steps = 30
    patience = 3

    def train(self, problem: Problem) -> None:
        optimizer = problem.optimizer()
        examples = (problem.validation or problem.train)[:20]
        best = problem.evaluate(problem.initial, examples)
        failures = 0
        for _ in range(self.steps):
            with problem.step():
                try:
                    proposals = optimizer.propose([best])
                except ModelError:
                    failures += 1
                    if failures == self.patience:
                        raise
                    continue
                best = self.choose(problem, best, proposals, examples)

    def choose(self, problem: Problem, best: Evaluation, proposals: list, examples: object) -> Evaluation:
        for values in proposals:
            found = problem.evaluate(values, examples)  # type: ignore[arg-type]
            if found.score is not None and (best.score is None or found.score > best.score):
                best = found
        return best


class SwallowsBudget(Sound):
    def train(self, problem: Problem) -> None:
        try:
            super().train(problem)
        except BudgetExhausted as spent:
            raise RuntimeError("the budget is my error") from spent


class Idle:
    def train(self, problem: Problem) -> None:
        with problem.step():
            problem.evaluate(problem.initial, problem.validation or problem.train)


class Unrepeatable(Sound):
    def __init__(self, count: itertools.count[int]) -> None:
        self.steps = 10 + next(count)


class Brittle(Sound):
    def choose(self, problem: Problem, best: Evaluation, proposals: list, examples: object) -> Evaluation:
        if not proposals:
            raise IndexError("no proposal")
        return super().choose(problem, best, proposals, examples)


class Careless(Sound):
    """Compares on train only."""

    def train(self, problem: Problem) -> None:
        optimizer = problem.optimizer()
        best = problem.evaluate(problem.initial)
        for _ in range(self.steps):
            with problem.step():
                best = self.choose(problem, best, optimizer.propose([best]), problem.train)


class OneParameter(Sound):
    def train(self, problem: Problem) -> None:
        if len(problem.parameters) > 1:
            raise ValueError("one parameter only")
        super().train(problem)


class FewExamples(Sound):
    def train(self, problem: Problem) -> None:
        if len(problem.train) > 100:
            raise MemoryError("too many examples")
        super().train(problem)


class Unmarked(Sound):
    def train(self, problem: Problem) -> None:
        best = problem.evaluate(problem.initial)
        for _ in range(5):
            best = self.choose(problem, best, problem.optimizer().propose([best]), problem.train)


class Racing(Sound):
    """Does more when evaluations run in parallel, as far as it can tell by looking where it must not."""

    def train(self, problem: Problem) -> None:
        self.steps = 5 + problem._setup.service.workers  # type: ignore[attr-defined]
        super().train(problem)


class NeedsScores(Sound):
    def choose(self, problem: Problem, best: Evaluation, proposals: list, examples: object) -> Evaluation:
        if best.score is None:
            raise TypeError("no score to compare with")
        return super().choose(problem, best, proposals, examples)


class KeepsTheWorst(Sound):
    def choose(self, problem: Problem, best: Evaluation, proposals: list, examples: object) -> Evaluation:
        for values in proposals:
            found = problem.evaluate(values, examples)  # type: ignore[arg-type]
            if found.score is not None and (best.score is None or found.score < best.score):
                best = found
        return best


class RejectsItsBest(Sound):
    """It climbs for some steps, and takes back the best that it has found."""

    def train(self, problem: Problem) -> None:
        examples = problem.validation or problem.train
        try:
            super().train(problem)
        finally:
            problem.decide(problem.best, "rejected")
            with suppress(BudgetExhausted):
                problem.evaluate(dict.fromkeys(problem.initial, 0.5), examples)


@HEAVY  # `TestSound` goes through them one by one
def test_a_sound_trainer_passes_every_check() -> None:
    assert list(check_trainer(Subject(Sound))) == []


def test_a_baseline_that_does_not_search_passes_what_applies_to_it() -> None:
    assert list(check_trainer(Subject(lambda: NoOp(NoOpSettings()), improves=False))) == []


COUNT = itertools.count()


@pytest.mark.parametrize(
    ("code", "faulty"),
    [
        ("TB201", SwallowsBudget),
        ("TB203", Idle),
        ("TB204", Idle),
        ("TB205", lambda: Unrepeatable(COUNT)),
        ("TB206", Brittle),
        ("TB209", Careless),
        ("TB210", OneParameter),
        ("TB211", FewExamples),
        ("TB212", Unmarked),
        ("TB213", Racing),
        ("TB214", NeedsScores),
        ("TB215", KeepsTheWorst),
        ("TB216", RejectsItsBest),
    ],
)
def test_a_faulty_trainer_is_found_out(code: str, faulty: type[Trainer]) -> None:
    found = TRAINER_CHECKS[code](Subject(faulty))
    assert found
    assert {f.code for f in found} == {code}


def test_a_trainer_that_gets_at_test_examples_is_found_out() -> None:
    """The engine gives no way to them; a problem that did is what the check is there for."""
    toy = checks.build_dials()
    leaked = toy.task.splits["test"]

    class Peeking:
        def train(self, problem: Problem) -> None:
            problem._split.update({e.id: "test" for e in leaked})  # type: ignore[attr-defined]
            problem.evaluate(problem.initial, leaked)

    assert [f.code for f in TRAINER_CHECKS["TB202"](Subject(Peeking))] == ["TB202"]


def test_every_check_is_a_test_of_the_suite_and_a_row_of_its_table() -> None:
    tests = [name for name in vars(TrainerConformance) if name.startswith("test_")]
    assert len(tests) == len(TRAINER_CHECKS)
    assert re.findall(r"^\| (TB\d+) ", checks.__doc__ or "", flags=re.MULTILINE) == list(TRAINER_CHECKS)
    assert all((check.__doc__ or "").startswith(code) for code, check in TRAINER_CHECKS.items())


class TestSound(TrainerConformance):
    def build(self) -> Trainer:
        return Sound()


def test_a_suite_without_a_trainer_says_what_to_override() -> None:
    with pytest.raises(NotImplementedError, match="override `build`"):
        TrainerConformance().build()
