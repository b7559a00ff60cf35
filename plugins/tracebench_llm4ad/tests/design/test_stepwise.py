"""Instances side by side: the same solutions as one after the other, fewer round trips, and failures that name their instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tracebench_core.contracts import Sandbox, Session
from tracebench_core.specs import Feedback, Outcome
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, CodeTask
from tracebench_llm4ad.heuristic import load_trusted

Evaluate = Callable[..., Feedback]
NAME = "optimization/online_bin_packing"
FUNSEARCH = """
def priority(item, bins):
    score = (bins - max(bins)) ** 2 / item + bins**2 / item**2 + bins**2 / item**3
    score[bins > item] = -score[bins > item]
    score[1:] -= score[:-1]
    return score
"""
"""The heuristic that FunSearch found for Weibull items (Romera-Paredes et al. 2023, in the words of its figure)."""


class CountingSandbox:
    """The real sandbox; it counts the calls of its sessions."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.calls = 0
        self.entries: set[str | None] = set()

    def session(self, *args: Any, **kwargs: Any) -> Session:
        opened = self.sandbox.session(*args, **kwargs)
        ask = opened.call

        def call(*arguments: Any, entry: str | None = None) -> Outcome:
            self.calls += 1
            self.entries.add(entry)
            return ask(*arguments, entry=entry)

        opened.call = call  # type: ignore[method-assign]
        return opened


@pytest.fixture(scope="module")
def task(build: Any) -> CodeTask:
    made: CodeTask = build(NAME, n_instance=4, n_items=50)
    return made


def test_one_call_carries_a_question_of_every_instance(task: CodeTask, sandbox: Sandbox) -> None:
    class Job:
        seed = 1

    counting = Job.sandbox = CountingSandbox(sandbox)  # type: ignore[attr-defined]
    example = task.splits["train"][0]
    solutions = task.run({"program": load_baseline(NAME)}, example, Job())  # type: ignore[arg-type]
    alone = load_trusted(load_baseline(NAME), "priority", prelude=NUMPY_PRELUDE)

    assert counting.calls == 50
    assert [s.bin_of for s in solutions] == [task.evaluator.solve(c.instance, alone).bin_of for c in example.input]


def test_an_instance_alone_is_asked_without_the_collective_call(
    build: Any, sandbox: Sandbox, evaluate: Evaluate
) -> None:
    class Job:
        seed = 1

    alone = build(NAME, n_instance=1, n_items=50)
    counting = Job.sandbox = CountingSandbox(sandbox)  # type: ignore[attr-defined]
    alone.run({"program": load_baseline(NAME)}, alone.splits["train"][0], Job())

    assert (counting.calls, counting.entries) == (50, {None})
    fault = "calls = 0\ndef priority(item, bins):\n    global calls\n    calls += 1\n    return bins if calls < 7 else 1 // 0\n"
    feedback = evaluate(alone, fault)
    assert feedback.status == "error"
    assert feedback.text.startswith("Instance `train-0.0`: ZeroDivisionError")


def test_a_broken_answer_names_its_instance(task: CodeTask, evaluate: Evaluate) -> None:
    fault = "calls = 0\ndef priority(item, bins):\n    global calls\n    calls += 1\n    return bins[:-1] if calls == 7 else bins\n"
    feedback = evaluate(task, fault)

    assert feedback.status == "invalid"
    assert feedback.text.startswith("Instance `train-0.2`")


KEEPS = """
kept = []
def priority(item, bins):
    kept.append(int(item))
    return np.sin(bins * (1 + sum(kept) % 11)) + random.random() * (len(kept) % 3)
"""
"""Its answer depends on all that it was ever asked, of whichever instance, and on a generator that moves on."""


@pytest.mark.parametrize("instances", [1, 3])
def test_what_a_program_keeps_of_an_example_is_gone_in_the_next(instances: int, build: Any, sandbox: Sandbox) -> None:
    class Job:
        seed = 1

    Job.sandbox = sandbox  # type: ignore[attr-defined]
    task = build(NAME, n_train=3, n_instance=instances, n_items=40)

    def packed(order: list[int]) -> dict[int, list[Any]]:
        examples = task.splits["train"]
        return {place: task.run({"program": KEEPS}, examples[place], Job()) for place in order}

    found = [packed(order) for order in ([0, 1, 2], [2, 1, 0], [1, 1, 0, 2])]
    bins = [{place: [one.bin_of for one in solutions] for place, solutions in each.items()} for each in found]
    assert bins[0] == bins[1] == bins[2]


@pytest.mark.parametrize(
    "trick",
    [
        "import sys\ndef _side_by_side(calls):\n    return []\nglobals()['_side_by_side'] = lambda calls: []\n",
        "_side_by_side = lambda calls: [c[1] for c in calls] * 2\n",
        "_side_by_side = None\n",
        "_side_by_side = lambda calls: {'a': 1}\n",
    ],
)
def test_a_program_that_replaces_the_collective_call_gains_nothing(
    trick: str, task: CodeTask, evaluate: Evaluate
) -> None:
    feedback = evaluate(task, f"def priority(item, bins):\n    return bins\n{trick}")

    assert feedback.status in {"invalid", "error"}


def test_an_exception_ends_the_evaluation_with_its_frame(task: CodeTask, evaluate: Evaluate) -> None:
    feedback = evaluate(task, "def priority(item, bins):\n    return bins[10**6]\n")

    assert feedback.status == "error"
    assert "IndexError" in feedback.text


def test_default_sequences_rank_the_published_heuristic_before_best_fit_and_first_fit(build: Any) -> None:
    task = build("online_bin_packing_local")
    (case,) = task.splits["train"][0].input
    programs = [FUNSEARCH, load_baseline(NAME), task.evaluator.program]
    used = [
        task.evaluator.judge(
            case.instance,
            task.evaluator.solve(case.instance, load_trusted(text, "priority", prelude=NUMPY_PRELUDE)),
        ).value
        for text in programs
    ]

    assert used == sorted(used)
    assert used[0] < 0.98 * used[1]
    assert used[0] / task.evaluator.bound(case.instance) < 1.012


def test_small_sequences_are_another_size(build: Any) -> None:
    assert len(build(NAME, size="small").splits["train"][0].input[0].instance.items) == 500
    assert len(build(NAME, size="small", n_items=70).splits["train"][0].input[0].instance.items) == 70
