"""The baselines: where they compare candidates, how long they go on, and that a recap tells what a run with a cap does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from tests.whole import cells

from tracebench_analysis.whatif import recap_job
from tracebench_core.contracts import Problem, Trainer
from tracebench_core.proposing.schedule import schedule
from tracebench_core.specs import Budget, JobResult
from tracebench_core.specs.events import ComparisonSet, LLMCall, Scored
from tracebench_engine.builtin.baselines import BestOfN, NoOp, RandomSearch, SequentialRefine
from tracebench_engine.builtin.settings import (
    BestOfNSettings,
    NoOpSettings,
    RandomSearchSettings,
    SequentialRefineSettings,
)
from tracebench_testing import Toy, Trial, run_trial
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import build_dials

TRAINERS: dict[str, Callable[[], Trainer]] = {
    "NoOp": lambda: NoOp(NoOpSettings()),
    "RandomSearch": lambda: RandomSearch(RandomSearchSettings()),
    "BestOfN": lambda: BestOfN(BestOfNSettings()),
    "SequentialRefine": lambda: SequentialRefine(SequentialRefineSettings()),
}
SEARCHES = [name for name in TRAINERS if name != "NoOp"]


def toy() -> Toy:
    return build_dials(train=12, validation=40)


def trial(name: str, *, seed: int = 0, budget: Budget | None = None) -> Trial:
    done = run_trial(TRAINERS[name](), toy(), answer=Teacher(toy().lesson, seed=seed), seed=seed, budget=budget)
    assert done.error is None
    return done


@pytest.mark.parametrize("name", TRAINERS)
def test_candidates_are_compared_on_one_part_of_validation(name: str) -> None:
    done = trial(name)
    (declared,) = [e for e in done.events if isinstance(e, ComparisonSet)]
    assert len(declared.examples) == 24
    assert {example.split("-")[0] for example in declared.examples} == {"validation"}
    compared = {c.id: [e.example for e in done.evaluations if e.candidate == c.id] for c in done.candidates}
    assert all(set(declared.examples) <= set(examples) for examples in compared.values())
    measured = {e.candidate for e in done.events if isinstance(e, Scored) and e.split == "validation"}
    assert {"c0", done.best.id} <= measured


@pytest.mark.parametrize("name", SEARCHES)
def test_with_a_cap_and_no_steps_a_trainer_goes_on_to_the_cap(name: str) -> None:
    free, capped = trial(name), trial(name, budget=Budget(evaluations=900))
    assert free.spent is None
    assert free.used.evaluations < 900
    assert (capped.spent, capped.used.evaluations) == ("evaluations", 900)


def test_a_cap_that_no_step_comes_nearer_to_does_not_bind() -> None:
    assert trial("RandomSearch", budget=Budget(llm_calls=5)).comparable() == trial("RandomSearch").comparable()


@pytest.mark.parametrize(("steps", "expected"), [(None, 4), (0, 0), (7, 7)])
def test_without_a_cap_there_are_as_many_steps_as_told_or_the_default(steps: int | None, expected: int) -> None:
    class Counts:
        def train(self, problem: Problem) -> None:
            assert list(schedule(problem, steps, default=4)) == list(range(expected))

    assert run_trial(Counts(), toy(), answer=Teacher(toy().lesson, seed=0)).error is None


RECAPS = [*product(TRAINERS, ["evaluations", "llm_calls", "tokens"])]


@pytest.mark.parametrize(("name", "axis"), cells(RECAPS, always=RECAPS[::4]))
def test_a_recap_is_the_real_run_at_that_cap(name: str, axis: str) -> None:
    for seed in range(3):
        free = trial(name, seed=seed)
        result = told_result(free)
        for share in (0.1, 0.35, 0.8):
            cap = Budget.model_validate({axis: max(1, int(share * getattr(free.used, axis)))})
            real, told = trial(name, seed=seed, budget=cap), recap_job(free.events, result, caps=cap)
            if told.cut_by is None and name != "NoOp" and getattr(free.used, axis):
                continue  # the cap leaves room for more than the free run did
            assert told.cut_by == real.spent
            assert told.used.model_copy(update={"seconds": 0}) == real.used.model_copy(update={"seconds": 0})
            assert told.finalists == finalists(real)
            if told.score_val is not None:
                assert told.score_val == real.score()
                assert told.best_candidate == winner(real)


def test_a_winner_at_the_cap_that_was_never_scored_is_unknown() -> None:
    free = trial("RandomSearch")
    told = [recap_job(free.events, told_result(free), caps=Budget(evaluations=n)) for n in range(0, 480, 24)]
    assert any(recap.score_val is None for recap in told)
    assert all((recap.score_val is None) == (winner_unknown(free, recap.finalists)) for recap in told if recap.cut_by)


def test_calls_of_others_stand_where_they_were_made() -> None:
    """A program that asks by itself, through the endpoint: the ledger is read before each evaluation is written."""

    class Climbs:
        def train(self, problem: Problem) -> None:
            for x in range(5):
                ask(problem)
                problem.evaluate(problem.initial | {"dial_0": float(x)}, problem.train[:1])

    def ask(problem: Problem) -> None:
        models = problem._setup.models  # type: ignore[attr-defined]  # the door's own way, which tells the problem nothing
        models.complete([{"role": "user", "content": "go on"}], role="optimizer")

    done = run_trial(Climbs(), toy(), answer=Teacher(toy().lesson, seed=0))
    assert done.error is None
    kinds = [type(e) for e in done.events if isinstance(e, LLMCall) or e in done.evaluations]
    assert [kind is LLMCall for kind in kinds] == [True, False] * 5
    told = recap_job(done.events, told_result(done), caps=Budget(llm_calls=2))
    assert (told.cut_by, told.used.llm_calls, told.used.evaluations) == ("llm_calls", 2, 2)


def told_result(done: Trial) -> JobResult:
    return JobResult(
        job_id="j",
        task_id="toys:t",
        suite="toys",
        trainer_id="t",
        seed=0,
        mode="stub",
        status="ok",
        stop_reason="completed",
        used=done.used,
    )


def finalists(done: Trial) -> tuple[str, ...]:
    return recap_job(done.events, told_result(done), caps=Budget()).finalists


def winner(done: Trial) -> str:
    return next(
        e.candidate for e in done.events if isinstance(e, Scored) and e.what == "best" and e.split == "validation"
    )


def winner_unknown(done: Trial, ids: tuple[str, ...]) -> bool:
    scored = {e.candidate for e in done.events if isinstance(e, Scored) and e.split == "validation"}
    return not set(ids) <= scored
