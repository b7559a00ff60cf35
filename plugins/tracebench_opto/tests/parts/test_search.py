from __future__ import annotations

import pytest

from tracebench_core.errors import ModelError
from tracebench_core.proposing.schedule import IDLE_STEPS
from tracebench_core.specs import Budget
from tracebench_core.specs.events import ComparisonSet
from tracebench_engine.job.circuit_breaker import HOPELESS_CALLS
from tracebench_opto.trainers import basic_search
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.answering import Answer
from tracebench_testing.toys import build_dials

TOY = build_dials()
TEACHER = Teacher(TOY.lesson, improves=0.7, harms=0.2)


def search(answer: Answer, *, budget: Budget | None = None, **settings: object) -> Trial:
    trainer = basic_search.build(basic_search.Settings.model_validate({"num_proposals": 1} | settings))
    return run_trial(trainer, TOY, answer=answer, budget=budget)


def failing(kind: str, *, every: int = 1) -> Answer:
    def answer(prompt: str, call: int) -> str:
        if call % every == 0:
            raise ModelError("no answer", kind=kind)
        return TEACHER(prompt, call)

    return answer


@pytest.mark.parametrize("kind", ["auth", "request", "replay_miss"])
def test_an_error_that_stays_ends_the_search_at_once(kind: str) -> None:
    trial = search(failing(kind))
    assert trial.failed_calls == 1
    assert len(trial.steps) == 1


@pytest.mark.parametrize("kind", ["server", "timeout", "rate_limited", "refused"])
def test_an_error_that_may_pass_is_met_five_times_in_a_row(kind: str) -> None:
    trial = search(failing(kind), budget=Budget(evaluations=500))
    assert trial.failed_calls == HOPELESS_CALLS
    assert trial.spent is None


def test_an_answer_in_between_forgives_the_failures_before_it() -> None:
    trial = search(failing("server", every=2), num_steps=30)
    assert trial.failed_calls > HOPELESS_CALLS
    assert trial.error is None
    assert trial.gain() > 0


def test_a_search_without_candidates_to_try_ends() -> None:
    trial = search(lambda _prompt, _call: '{"values": {}}', budget=Budget(evaluations=500))
    assert len(trial.steps) == 1 + IDLE_STEPS  # the first one measures the initial candidate
    assert (trial.spent, trial.error) == (None, None)


def test_handing_over_one_candidate_at_a_time_changes_no_result() -> None:
    one, all_at_once = (search(TEACHER, num_steps=5, num_proposals=4, num_threads=n) for n in (1, None))
    assert [(e.candidate, e.example, e.score) for e in one.evaluations] == [
        (e.candidate, e.example, e.score) for e in all_at_once.evaluations
    ]


def test_a_fixed_validation_size_is_kept() -> None:
    trial = search(TEACHER, num_steps=2, validation_size=3)
    assert len({e.example for e in trial.evaluations if e.split == "validation"}) == 3


def test_steps_are_told_at_the_level_that_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="tracebench_opto"):
        search(TEACHER, num_steps=2)
        assert not caplog.records
        search(TEACHER, num_steps=2, verbose=True)
    assert sum("step" in r.message for r in caplog.records) == 2


def test_what_candidates_are_compared_on_is_declared() -> None:
    trial = search(TEACHER, num_steps=2, validation_size=3)
    (declared,) = [e for e in trial.events if isinstance(e, ComparisonSet)]
    assert {e.example for e in trial.evaluations if e.split == "validation"} == set(declared.examples)
