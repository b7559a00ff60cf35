"""Candidates that break, cheat or run away: each gets a status and words, none a score it did not earn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plugins.tracebench_llm4ad.tests.design.conftest import SMALL, load
from tests.whole import cells

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Feedback, Limits
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.heuristic import SandboxedHeuristic, TrustedHeuristic
from tracebench_llm4ad.returned import number, whole
from tracebench_sandbox import open_sandbox

Evaluate = Callable[..., Feedback]

RETURNS = {
    "nothing": "None",
    "nan": "float('nan')",
    "infinity": "float('inf')",
    "a huge integer": "10**400",
    "an integer that no text can hold": "10**4000",
    "an array without axes": "np.array(1)",
    "a negative index": "-1",
    "a large index": "10**9",
    "a bool": "True",
    "a string": "'1'",
    "a dict": "{'a': 1}",
    "a pair of Nones": "(None, None)",
    "a wrong shape": "np.zeros((3, 3, 3))",
    "a wrong dtype": "np.array(['a', 'b'])",
    "complex numbers": "np.ones(3) * 1j",
    "a ragged list": "[[1], [2, 3]]",
    "an object": "object()",
    "a function": "len",
    "its first argument": "args[0]",
    "all arguments": "list(args)",
}
RANKS = {("optimization/admissible_set", body) for body in ("-1", "10**9", "np.array(1)")}
"""What is a proper answer after all: any finite number ranks a vector, equal ones included."""
BREAKS = {
    "no such function": "answer = 42",
    "a syntax error": "def {entry}(:",
    "no arguments": "def {entry}():\n    return 0",
    "an exception": "def {entry}(*args):\n    raise ValueError('my own words')",
    "an exception while loading": "1 / 0",
    "an exit": "import os\ndef {entry}(*args):\n    os._exit(0)",
    "a polite exit": "import sys\ndef {entry}(*args):\n    sys.exit(0)",
    "endless recursion": "def {entry}(*args):\n    return {entry}(*args)",
    "a kill": "import os\ndef {entry}(*args):\n    os.kill(os.getppid(), 9)\n    os.kill(os.getpid(), 9)",
}
OF_EACH_KIND = (
    "circle_packing",
    "optimization/admissible_set",
    "optimization/online_bin_packing",
    "optimization/pymoo_moead",
    "optimization/cvrp_construct",
    "optimization/jssp_construct",
)
START = "{program}\n_start = {entry}\n"
HARMLESS = {
    "patched modules": """
import random, time
np.average = np.sum = np.mean = np.max = np.min = lambda *a, **k: 1e9
time.time = time.perf_counter = time.monotonic = lambda: 0.0
random.random = lambda: 0.5
def {entry}(*args):
    return _start(*args)
""",
    "changed arguments": """
import copy
def {entry}(*args):
    answer = copy.deepcopy(_start(*copy.deepcopy(args)))
    for argument in args:
        if isinstance(argument, np.ndarray) and argument.flags.writeable:
            argument[...] = 0
        elif isinstance(argument, list):
            argument.clear()
    return answer
""",
}


@pytest.fixture(scope="module", params=cells(zip(SMALL, strict=True), always=zip(OF_EACH_KIND, strict=True)))
def task(request: pytest.FixtureRequest) -> CodeTask:
    """One of each kind, small: what builds, packs, ranks, searches, routes and schedules; in the group `whole` all of them."""
    return load(request.param, **SMALL[request.param])


@pytest.mark.parametrize("body", RETURNS.values(), ids=RETURNS)
def test_a_wrong_answer_is_refused_with_words_or_earns_no_more_than_the_start(
    task: CodeTask, body: str, evaluate: Evaluate
) -> None:
    feedback = evaluate(task, f"def {task.evaluator.entry}(*args):\n    return {body}\n")
    if feedback.status == "ok":
        assert feedback.score <= evaluate(task).score or (task.spec.name, body) in RANKS
    else:
        assert feedback.status in {"invalid", "error"}
        assert "Instance `train-0.0`" in feedback.text
        assert len(feedback.text) > 40


def test_the_right_shape_full_of_nan_is_refused(task: CodeTask, evaluate: Evaluate) -> None:
    entry = task.evaluator.entry
    source = START + "def {entry}(*args):\n    return np.full(np.shape(_start(*args)), np.nan)\n"
    feedback = evaluate(task, source.replace("{program}", task.evaluator.program).replace("{entry}", entry))
    assert feedback.status in {"invalid", "error"}


@pytest.mark.parametrize("source", BREAKS.values(), ids=BREAKS)
def test_a_broken_program_gets_a_status_and_words(task: CodeTask, source: str, evaluate: Evaluate) -> None:
    feedback = evaluate(task, source.replace("{entry}", task.evaluator.entry))
    assert feedback.status in {"invalid", "error"}
    assert len(feedback.text) > 40


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_tampering_inside_the_sandbox_changes_no_score(task: CodeTask, source: str, evaluate: Evaluate) -> None:
    entry = task.evaluator.entry
    honest = evaluate(task)
    program = (START + source).replace("{program}", task.evaluator.program).replace("{entry}", entry)
    cheating = evaluate(task, program)
    if cheating.status == "ok":
        assert cheating.score <= honest.score
    else:
        assert cheating.text
    assert evaluate(task).score == honest.score


@pytest.mark.parametrize(
    "kind", [float, np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64, np.array]
)
def test_a_number_of_any_kind_is_that_number(kind: Callable[[int], Any]) -> None:
    assert whole(kind(3), what="a number") == number(kind(3), what="a number") == 3
    with pytest.raises(EvaluationFailed, match="an integer"):
        whole(np.bool_(True), what="a number")


def test_an_endless_loop_ends_at_the_deadline(build: Any, evaluate: Evaluate) -> None:
    task = build("optimization/tsp_construct", n_train=1, n_instance=2, timeout_seconds=0.4)
    feedback = evaluate(task, "def select_next_node(*args):\n    while True:\n        pass\n")
    assert feedback.status == "timeout"
    assert "cheaper" in feedback.text


IDLE = """
import threading, time
time.process_time = time.perf_counter = time.monotonic = lambda: 0.0
def work():
    total = 0
    for number in range(3_000_000):
        total += number
def at_once():
    work()
def later():
    threading.Thread(target=work).start()
"""


def test_work_moved_to_the_background_counts_as_the_programs_own() -> None:
    def counted(entry: str) -> float:
        with sandbox.session(IDLE, entry, limits=Limits(seconds=60)) as session:
            heuristic = SandboxedHeuristic(session)
            heuristic()
            time.sleep(1)  # while no call is under way
            heuristic()
            return heuristic.seconds

    with open_sandbox() as sandbox:
        with sandbox.session(IDLE, "work") as session:
            if session.call().cpu_seconds is None:
                pytest.skip("a candidate's processor time cannot be told here: it lives in namespaces")
        assert counted("later") > 0.25 * counted("at_once")


def test_an_exception_is_shown_with_its_line(build: Any, evaluate: Evaluate) -> None:
    task = build("optimization/knapsack_construct", n_train=1)
    feedback = evaluate(task, "def select_next_item(capacity, items):\n    return items[capacity * 1000]\n")
    assert feedback.status == "error"
    assert "IndexError" in feedback.text
    assert "line 2" in feedback.text


def test_online_packing_shows_one_item_at_a_time(build: Any, evaluate: Evaluate) -> None:
    task = build("optimization/online_bin_packing", n_train=1, n_instance=1, n_items=30)
    spy = "def priority(item, bins):\n    assert np.ndim(item) == 0 and bins.min() >= item, (item, bins)\n    return -bins\n"
    assert evaluate(task, spy).status == "ok"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=8,
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_returned_the_simulation_refuses_it_or_builds_a_valid_solution(
    task: CodeTask, data: st.DataObject
) -> None:
    answers = data.draw(st.lists(values, min_size=1, max_size=6))
    calls = iter(range(10**9))
    heuristic = TrustedHeuristic(lambda *_: answers[next(calls) % len(answers)])
    case = task.splits["train"][0].input[0]
    refusal, verdict = None, None
    try:
        verdict = task.evaluator.judge(case.instance, task.evaluator.solve(case.instance, heuristic))
    except EvaluationFailed as failure:
        refusal = failure.feedback
    if verdict is None:
        assert refusal is not None
        assert refusal.status == "invalid"
        assert refusal.text
    else:
        gain = verdict.value - task.evaluator.bound(case.instance)
        assert gain <= 1e-9 if task.spec.direction == "maximize" else gain >= -1e-9
