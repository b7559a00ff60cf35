"""The control tasks: what a policy earns, and what it cannot earn."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from tests.whole import cells, one_in

from tracebench_core.specs import Feedback
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.control.catalog import SPECS
from tracebench_llm4ad.control.episode import Episode
from tracebench_llm4ad.control.moon_lander import MoonLander
from tracebench_llm4ad.heuristic import load_trusted
from tracebench_llm4ad.seclusion import ROOT

Evaluate = Callable[..., Feedback]
NAMES = [spec.name for spec in SPECS]
CAR = "machine_learning/car_mountain"


def build(name: str, **options: Any) -> CodeTask:
    spec = next(spec for spec in SPECS if spec.name == name)
    module, _, function = spec.loader.partition(":")
    task: CodeTask = getattr(import_module(module), function)(**options)
    return task


@pytest.mark.parametrize("name", one_in(3, NAMES))
def test_the_starting_program_scores_and_the_known_policy_scores_better(name: str, evaluate: Evaluate) -> None:
    task = build(name)
    start = evaluate(task)
    known = evaluate(task, load_baseline(name))

    assert (start.status, known.status) == ("ok", "ok")
    assert start.metrics["normalised"] == pytest.approx(0, abs=1e-9)
    assert known.metrics["normalised"] == pytest.approx(1, abs=1e-9)
    assert known.score > start.score
    assert "Worst instance" in start.text


@pytest.mark.parametrize("name", one_in(3, NAMES))
def test_an_episode_is_the_same_every_time_and_in_every_process(name: str, evaluate: Evaluate) -> None:
    first, second = evaluate(build(name, n_instance=1)), evaluate(build(name, n_instance=1))

    assert first == second


@pytest.mark.parametrize("name", NAMES)
def test_no_episode_is_in_two_splits(name: str) -> None:
    splits = build(name, n_instance=3, n_train=3, n_validation=3, n_test=3).splits
    seeds = [case.instance for examples in splits.values() for example in examples for case in example.input]

    assert len(set(seeds)) == len(seeds) == 27


@pytest.mark.parametrize("name", NAMES)
def test_the_description_names_every_argument_the_answer_and_the_score(name: str) -> None:
    task = build(name)

    assert all(f"`{argument}`" in task.objective for argument in (*task.evaluator.world.observed, "last_action"))
    assert "Return a" in task.objective
    assert "How it is scored" in task.objective
    assert task.evaluator.world.gym_id in task.objective


def test_every_extra_that_is_missing_has_its_install_line() -> None:
    needs = {spec.name: {r.name: r.hint for r in spec.requires} for spec in SPECS}

    assert all(hints["gymnasium"] == 'pip install "tracebench-llm4ad[gym]"' for hints in needs.values())
    assert needs["machine_learning/moon_lander"]["Box2D"] == 'pip install "tracebench-llm4ad[box2d]"'


def program(body: str, *, head: str = "", name: str = CAR) -> str:
    signature = build(name, n_instance=1).parameters[0].signature
    return f"{head}\n{signature}\n    {body}\n"


ANSWERS = {
    "nothing": ("return None", "invalid", "returned None"),
    "no such action": ("return 3", "invalid", "returned 3"),
    "a negative action": ("return -1", "invalid", "returned -1"),
    "half an action": ("return 0.5", "invalid", "0.5"),
    "not a number": ("return float('nan')", "invalid", "nan"),
    "a truth value": ("return True", "invalid", "True"),
    "a text": ("return 'right'", "invalid", "'right'"),
    "an array": ("return np.array([2, 2])", "invalid", "shape (2,)"),
    "a huge number": ("return 10**400", "invalid", "1000"),
    "an observation": ("return pos", "invalid", "integer"),
    "something that is no data": ("return lambda: 2", "invalid", ""),
}


@pytest.mark.parametrize(("body", "status", "words"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_no_action_is_refused_with_words(
    body: str, status: str, words: str, evaluate: Evaluate
) -> None:
    feedback = evaluate(build(CAR, n_instance=1), program(body))

    assert feedback.status == status
    assert words in feedback.text
    assert feedback.metrics == {}


def test_a_refused_action_is_named_with_its_step_and_observation(evaluate: Evaluate) -> None:
    feedback = evaluate(build(CAR, n_instance=1), program("return 2 if v < 0.002 else 7"))

    assert "at step" in feedback.text
    assert "pos=" in feedback.text
    assert "train-0.0" in feedback.text


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(("continue", "pendulum"))])
@pytest.mark.parametrize("answer", ["float('nan')", "float('inf')", "1j", "[0.5, 0.5]", "'0.5'", "None"])
def test_a_force_must_be_a_finite_number(name: str, answer: str, evaluate: Evaluate) -> None:
    assert evaluate(build(name, n_instance=1), program(f"return {answer}", name=name)).status == "invalid"


def test_a_force_beyond_the_range_counts_as_the_end_of_the_range(evaluate: Evaluate) -> None:
    task = build("machine_learning/pendulum", n_instance=1)

    beyond = evaluate(task, program("return 50.0 if av > 0 else -50.0", name=task.evaluator.name))
    at_the_end = evaluate(task, program("return 2.0 if av > 0 else -2.0", name=task.evaluator.name))

    assert beyond == at_the_end


ATTACKS = {
    "wrong name": ("def act(pos, v, last_action):\n    return 2\n", {"invalid"}),
    "wrong signature": ("def choose_action(pos, v):\n    return 2\n", {"error"}),
    "syntax error": ("def choose_action(pos, v, last_action)\n    return 2\n", {"invalid"}),
    "an exception": (program("return 1 / 0"), {"error"}),
    "endless loop": (program("while True: pass"), {"timeout"}),
    "endless loop at import": ("while True: pass\n" + program("return 2"), {"timeout"}),
    "endless recursion": (program("return choose_action(pos, v, last_action)"), {"error", "killed"}),
    "ends its process": (program("__import__('os')._exit(0)"), {"error", "invalid"}),
    "kills its process": (program("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), {"error", "invalid"}),
    "starts a process": (program("__import__('os').fork(); return 2"), {"error", "invalid"}),
    "reads the suite": (program(f"open({str(ROOT / 'control' / 'car_mountain.py')!r}).read(); return 2"), {"invalid"}),
    "reads the suite by bytes": (program(f"open({bytes(ROOT / 'options.py')!r}).read(); return 2"), {"invalid"}),
    "lists the suite": (program(f"import os; os.listdir({str(ROOT)!r}); return 2"), {"invalid"}),
    "looks through a link": (
        program(f"import os; os.symlink({str(ROOT)!r}, 'x'); open('x/options.py'); return 2"),
        {"invalid"},
    ),
    "looks past a folder": (
        program(
            f"import os; fd = os.open({str(ROOT.parent)!r}, 0); os.open('{ROOT.name}/options.py', 0, dir_fd=fd); return 2"
        ),
        {"invalid"},
    ),
    "imports the suite": (program("import tracebench_llm4ad.control.car_mountain; return 2"), {"error"}),
}


@pytest.mark.parametrize(
    ("source", "statuses"),
    cells(ATTACKS.values(), always=[attack for name, attack in ATTACKS.items() if not name.startswith("endless loop")]),
    ids=ATTACKS,
)
def test_a_hostile_policy_gets_a_status_and_words_and_no_score(
    source: str, statuses: set[str], evaluate: Evaluate
) -> None:
    patience = (
        1.0 if "timeout" in statuses else 60.0
    )  # a busy machine takes its time for those who end by something else
    feedback = evaluate(build(CAR, n_instance=1, timeout_seconds=patience), source)

    assert feedback.status in statuses
    assert feedback.text
    assert feedback.metrics == {}


def test_patching_what_the_environment_uses_changes_nothing(evaluate: Evaluate) -> None:
    head = """
import math, random, sys, time
import numpy as np
np.clip = np.sum = np.array = np.cos = math.cos = lambda *a, **k: 1e9
random.random = lambda: 0.0
time.time = time.perf_counter = lambda: 0.0
sys.modules["gymnasium"] = sys
"""
    task = build(CAR, n_instance=1)

    assert evaluate(task, program("return 2", head=head)) == evaluate(task, program("return 2"))
    assert evaluate(task) == evaluate(task, program("return 2"))


def test_a_policy_may_keep_a_plan_in_its_globals(evaluate: Evaluate) -> None:
    source = program("MEMORY.append(v); return 2 if MEMORY[-1] >= 0 else 0", head="MEMORY = []")

    assert evaluate(build(CAR, n_instance=1), source).metrics["solved"] == 1


def test_the_trusted_and_the_sandboxed_policy_steer_the_same_episode(evaluate: Evaluate) -> None:
    task = build(CAR, n_instance=1)
    source = load_baseline(CAR)
    instance = task.splits["train"][0].input[0].instance
    trusted = task.evaluator.judge(instance, task.evaluator.solve(instance, load_trusted(source, "choose_action")))

    assert evaluate(task, source).metrics["cost"] == trusted.value


@pytest.mark.parametrize(
    ("ended", "last_reward", "words"),
    [
        (False, 0.0, "The craft was still not at rest after 7 steps, 5 from the pad."),
        (True, 100.0, "The craft came to rest at step 7, 5 from the pad."),
        (True, -100.0, "The craft crashed or flew off at step 7, 5 from the pad."),
    ],
)
def test_a_landing_is_told_as_it_ended(ended: bool, last_reward: float, words: str) -> None:
    lander = MoonLander.__new__(MoonLander)
    episode = Episode(
        steps=7, ended=ended, reward=0.0, last_reward=last_reward, nearest=5.0, first=(0.0,) * 8, last=(3.0, 4.0, 9.0), actions=()
    )  # fmt: skip

    assert lander.outcome(episode) == words
