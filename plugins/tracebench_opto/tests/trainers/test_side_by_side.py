"""Model calls of one step are under way together, and the job is the same as if they came one after another."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tracebench_core.contracts import Problem, Trainer
from tracebench_core.errors import ModelError
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Budget
from tracebench_opto.trainers import beam_search, gepa_base, opro, pareto_search, polca, priority_search
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.toys import build_dials

WIDE = {
    "PrioritySearch": lambda n: priority_search.build(
        priority_search.Settings(num_steps=3, num_candidates=3, num_proposals=3, num_threads=n)
    ),
    "POLCA": lambda n: polca.build(polca.Settings(num_steps=3, num_proposals=4, num_threads=n)),
    "BeamSearch": lambda n: beam_search.build(beam_search.Settings(num_steps=3, num_threads=n)),
    "ParetoSearch": lambda n: pareto_search.build(pareto_search.Settings(num_steps=4, num_threads=n)),
    "OPRO": lambda n: opro.build(opro.Settings(num_steps=3, num_threads=n)),
    "GEPA-Base": lambda n: gepa_base.build(gepa_base.Settings(num_steps=6, num_threads=n)),
}


def unevenly(teacher: Teacher, *, failing: float = 0.0) -> Callable[[str, int], str]:
    """Answer as the teacher does, each call after a wait of its own, so that answers overtake one another."""

    def answer(prompt: str, call: int) -> str:
        rng = random.Random(derive_seed(teacher.seed, "wait", call))
        time.sleep(rng.uniform(0.0, 0.004))
        if rng.random() < failing:
            raise ModelError("no answer today", kind="server")
        return "rubbish" if rng.random() < failing else teacher(prompt, call)

    return answer


def trial(trainer: Trainer, *, budget: Budget | None = None, failing: float = 0.0, workers: int = 1) -> Trial:
    toy = build_dials()
    answer = unevenly(Teacher(toy.lesson, improves=0.5, harms=0.4), failing=failing)
    return run_trial(trainer, toy, answer=answer, budget=budget, workers=workers)


@pytest.mark.parametrize("name", WIDE)
def test_a_job_is_the_same_at_any_number_of_calls_in_flight(name: str) -> None:
    alone = trial(WIDE[name](1))
    assert alone.error is None
    assert alone.used.llm_calls > 5
    assert trial(WIDE[name](8), workers=4).comparable() == alone.comparable()


def test_failed_and_unreadable_answers_cost_their_own_proposals_in_either_case() -> None:
    alone, together = (trial(WIDE["PrioritySearch"](n), failing=0.3) for n in (1, 8))
    assert alone.error is None
    assert alone.failed_calls > 0
    assert together.comparable() == alone.comparable()


@pytest.mark.parametrize("calls", [1, 5, 11, 40])
def test_a_cap_of_calls_serves_the_same_proposals_in_either_case(calls: int) -> None:
    alone, together = (trial(WIDE["PrioritySearch"](n), budget=Budget(llm_calls=calls)) for n in (1, 8))
    assert together.used.llm_calls <= calls
    assert together.comparable() == alone.comparable()


def test_as_many_calls_are_under_way_as_the_setting_says() -> None:
    toy = build_dials()
    teacher = Teacher(toy.lesson, improves=0.5)
    met = threading.Barrier(8)

    def answer(prompt: str, call: int) -> str:
        met.wait(timeout=60)
        return teacher(prompt, call)

    settings = priority_search.Settings(num_steps=1, num_candidates=1, num_proposals=16, num_threads=8)
    done = run_trial(priority_search.build(settings), toy, answer=answer)
    assert done.error is None
    assert done.used.llm_calls == 16


class Tasks:
    """Runs tasks side by side and keeps what came of it."""

    def __init__(self, *tasks: Callable[[Problem], Any]) -> None:
        self._tasks = tasks
        self.returned: list[Any] = []

    def train(self, problem: Problem) -> None:
        problem.evaluate(problem.initial)
        self.returned = problem.side_by_side([lambda task=task: task(problem) for task in self._tasks])


def test_results_come_in_the_order_of_tasks() -> None:
    def slow(_: Problem) -> str:
        time.sleep(0.05)
        return "slow"

    tasks = Tasks(slow, lambda _: "quick")
    assert trial(tasks).error is None
    assert tasks.returned == ["slow", "quick"]


def test_the_first_error_in_order_is_raised_once_all_tasks_have_ended() -> None:
    ended = []

    def fails(words: str, seconds: float) -> Callable[[Problem], None]:
        def task(_: Problem) -> None:
            time.sleep(seconds)
            ended.append(words)
            raise ValueError(words)

        return task

    done = trial(Tasks(fails("first", 0.05), fails("second", 0.0), lambda _: ended.append("fine")))
    assert str(done.error) == "first"
    assert sorted(ended) == ["fine", "first", "second"]


def test_nothing_is_run_for_no_tasks() -> None:
    assert trial(Tasks()).error is None
