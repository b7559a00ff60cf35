from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from tests.toys import build_trade_off

from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted, ModelError
from tracebench_core.proposing.answer_format import render_values
from tracebench_core.specs import Budget
from tracebench_testing import Teacher, run_trial
from tracebench_testing.answering import AnsweringModels
from tracebench_testing.toys import build_code, build_dials, build_number

MESSAGE = [{"role": "user", "content": "x" * 400}]


class Greedy:
    """Proposes from the best and evaluates on train, for ever."""

    def train(self, problem: Problem) -> None:
        optimizer = problem.optimizer()
        problem.evaluate(problem.initial)
        while True:
            with problem.step():
                for values in optimizer.propose([problem.evaluate(problem.best.values)]):
                    problem.evaluate(values)


class Leave:
    """Leaves, as it might where a library's command is called."""

    def train(self, problem: Problem) -> None:
        raise SystemExit(3)


class Solve:
    """Evaluates a right answer to the code toy on all of train."""

    def train(self, problem: Problem) -> None:
        problem.evaluate({"code": "def transform(x):\n    return 2 * x + 1\n"})


class Crash:
    """Raises after one evaluation."""

    def train(self, problem: Problem) -> None:
        problem.evaluate(problem.initial)
        raise RuntimeError("on purpose")


def test_a_trial_ends_with_the_budget_and_has_the_engines_scores() -> None:
    toy = build_number()
    trial = run_trial(Greedy(), toy, answer=Teacher(toy.lesson), budget=Budget(evaluations=40))
    assert (trial.spent, trial.used.evaluations, trial.error) == ("evaluations", 40, None)
    assert trial.score("initial") == -3.0
    assert trial.gain() > 0


def test_a_trainers_error_is_kept_and_not_raised() -> None:
    toy = build_number()
    trial = run_trial(Crash(), toy, answer=Teacher(toy.lesson))
    assert str(trial.error) == "on purpose"
    assert trial.gain() == 0.0
    assert isinstance(run_trial(Leave(), toy, answer=Teacher(toy.lesson)).error, SystemExit)


def test_candidate_code_runs_in_the_sandbox() -> None:
    toy = build_code()
    trial = run_trial(Solve(), toy, answer=Teacher(toy.lesson))
    assert trial.score("final") == 1.0
    assert trial.gain() > 0


def test_comparable_events_hold_no_times() -> None:
    toy = build_dials()
    one, other = (run_trial(Crash(), toy, answer=Teacher(toy.lesson)) for _ in range(2))
    assert one.comparable() == other.comparable()
    assert "seconds" not in str(one.comparable())


@pytest.mark.parametrize(("axis", "cap"), [("llm_calls", 2), ("tokens", 250), ("usd", 0.00025)])
def test_models_refuse_a_spent_budget(axis: str, cap: float) -> None:
    models = AnsweringModels(lambda _, call: f"reply {call}", caps=Budget.model_validate({axis: cap}))
    for _ in range(2 if axis == "llm_calls" else 3):
        models.complete(MESSAGE, role="optimizer")
    with pytest.raises(BudgetExhausted) as spent:
        models.complete(MESSAGE, role="optimizer")
    assert spent.value.axis == axis


def test_a_failed_call_is_recorded_and_not_charged() -> None:
    def answer(_prompt: str, _call: int) -> str:
        raise ModelError("gone", kind="server")

    models = AnsweringModels(answer, caps=Budget(llm_calls=1))
    with pytest.raises(ModelError):
        models.complete(MESSAGE, role="optimizer")
    assert models.used().llm_calls == 0
    assert [r.status for r in models.records()] == ["error"]


def ask(base_url: str, **request: Any) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"model": "m", "messages": MESSAGE, **request}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{base_url}/chat/completions", body)) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_programs_reach_the_same_function_meter_and_caps_on_the_wire() -> None:
    def answer(_prompt: str, call: int) -> str:
        if call == 2:
            raise ModelError("gone", kind="server")
        return f"reply {call}"

    models = AnsweringModels(answer, caps=Budget(llm_calls=2))
    base_url = models.endpoint("optimizer").base_url
    status, found = ask(base_url, n=2)
    assert status == 200
    assert [c["message"]["content"] for c in found["choices"]] == ["reply 0", "reply 1"]
    assert found["usage"]["total_tokens"] == models.used().tokens
    status, found = ask(base_url)
    assert (status, found["error"]["tracebench"]["axis"]) == (402, "llm_calls")
    assert models.refusal() is not None
    models.close()
    free = AnsweringModels(answer, caps=Budget())
    statuses = [ask(free.endpoint("optimizer").base_url)[0] for _ in range(3)]
    assert statuses == [200, 200, 502]
    assert (free.used().llm_calls, free.failed) == (2, 1)
    free.close()


def test_n_completions_are_n_calls_with_their_usage_once() -> None:
    models = AnsweringModels(lambda _, call: str(call), caps=Budget())
    texts = models.complete(MESSAGE, role="optimizer", n=3)
    assert [c.text for c in texts] == ["0", "1", "2"]
    assert sum(c.usage.llm_calls for c in texts) == models.used().llm_calls == 3


def test_the_teacher_improves_as_often_as_it_says() -> None:
    toy = build_dials()
    values = {f"dial_{k}": 0.0 for k in range(4)}
    teacher = Teacher(toy.lesson, improves=0.5, harms=0.2, seed=3)
    answers = [json.loads(teacher(render_values(values), call))["values"] for call in range(800)]
    unchanged = sum(a == values for a in answers) / 800
    assert unchanged == pytest.approx(0.3, abs=0.06)
    assert answers == [json.loads(teacher(render_values(values), call))["values"] for call in range(800)]


def test_the_teacher_says_when_it_sees_no_values() -> None:
    assert "no current values" in Teacher(build_number().lesson)("Hello", 0)


def test_strides_are_as_long_as_asked() -> None:
    import random

    toy = build_dials(parameters=1, stride=0.25)
    rng = random.Random(0)
    assert toy.lesson.improve({"dial_0": 0.0}, rng) == {"dial_0": 0.25}
    assert toy.lesson.harm({"dial_0": 0.0}, rng) == {"dial_0": -0.25}
    assert toy.lesson.improve({"dial_0": 0.9}, rng) == {"dial_0": 1.0}


def test_noise_differs_between_candidates_and_repeats() -> None:
    class Twice:
        def train(self, problem: Problem) -> None:
            problem.evaluate(problem.initial)
            problem.evaluate(problem.initial)
            problem.evaluate({"dial_0": 2.0})

    toy = build_dials(parameters=1, train=1, validation=0, noise=1.0)
    scores = [e.score for e in run_trial(Twice(), toy, answer=Teacher(toy.lesson)).evaluations]
    assert len(set(scores)) == 3


def test_the_trade_off_reports_both_objectives() -> None:
    toy = build_trade_off()
    trial = run_trial(Crash(), toy, answer=Teacher(toy.lesson))
    assert set(trial.evaluations[0].metrics) == {"left", "right"}
