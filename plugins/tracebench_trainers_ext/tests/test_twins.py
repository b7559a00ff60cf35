"""A library's own program, on what a trainer's job was answered, visits the candidates that the trainer visited."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from plugins.tracebench_trainers_ext.tests.forms import in_form, written
from plugins.tracebench_trainers_ext.tests.scripted import KEY, needs, run, said
from tests.warm import trace_bench

from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]
MOVES = ((1, 0), (0, 1), (1, 1), (-1, 0), (0, -1))
NUMBER = "internal:numeric_param"
TOYS = Path(__file__).with_name("toys.py")


class Script:
    """A model that moves the function which a prompt shows last; where it goes depends on the function and on how often it was shown."""

    def __init__(self) -> None:
        self._shown: Counter[tuple[int, int]] = Counter()

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        prompt = written(messages)
        if "<OBJECTIVE_INSTRUCTION>" in prompt:  # AdalFlow asks for a gradient
            return in_form(prompt, "")
        found = re.findall(r"return (?:(-?\d+) \* )?x \+ (-?\d+)", prompt)
        place = (int(found[-1][0] or 1), int(found[-1][1])) if found else (1, 1)
        step = MOVES[self._shown[place] % len(MOVES)]
        self._shown[place] += 1
        return in_form(prompt, moved(place[0] + step[0], place[1] + step[1]))


class Row:
    """A model that answers with one function after another, whatever it is asked."""

    def __init__(self) -> None:
        self._given = 0

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        self._given += 1
        return in_form(written(messages), moved(1 + self._given // 2, 1 - self._given % 2))


class Rules:
    """A model that has one more rule for every module that it is asked about."""

    def __init__(self) -> None:
        self._given = 0

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        self._given += 1
        return in_form(written(messages), "", f"Rule {self._given}.")


def moved(slope: int, shift: int) -> str:
    """Write a function down."""
    return f"def transform(x):\n    return {slope} * x + {shift}\n"


class Case(NamedTuple):
    """A trainer, what it is set to, and what it is tried on."""

    trainer: str
    params: Mapping[str, Any] = MappingProxyType({})
    budget: Mapping[str, int] = MappingProxyType({})
    task: str = "internal:code_param"
    model: Callable[[], Callable[[list[dict[str, Any]]], str]] = Script
    verdicts: tuple[str, ...] = ("same",)


SHOTS = {"max_bootstrapped_demos": 3, "max_labeled_demos": 4}
CASES = [
    pytest.param(case, marks=needs(case.trainer), id="-".join([case.trainer, *case.params.get("mode", "").split()]))
    for case in (
        Case("gepa-optimize", budget={"evaluations": 60}),
        Case("gepa-anything", budget={"evaluations": 60}),
        Case("gepa-anything", {"mode": "multi-task"}, budget={"evaluations": 60}),
        Case("gepa-anything", {"mode": "single-task"}, budget={"evaluations": 100}),
        Case("DSPy-COPRO", {"breadth": 3, "depth": 3}, verdicts=("same", "same set")),
        Case("DSPy-MIPROv2", {"num_trials": 10}),
        Case("DSPy-SIMBA", task=f"{TOYS}:words", model=Rules),
        Case("DSPy-GEPA", budget={"evaluations": 60}),
        Case("DSPy-BootstrapFewShot", SHOTS, task=f"{TOYS}:shots"),
        Case("TextGrad", {"num_steps": 8}),
        Case("AdalFlow", {"max_steps": 4}),
        Case("OpenEvolve", {"iterations": 6}, model=Row),
        Case("SkyDiscover-BestOfN", {"iterations": 6}, model=Row),
        Case("SkyDiscover-AdaEvolve", {"iterations": 6}, model=Row),
        Case("ShinkaEvolve", {"iterations": 6}, model=Row),
        Case("Optuna", {"n_trials": 30}, task=NUMBER),
        Case("Nevergrad", {"n_trials": 30}, task=NUMBER),
    )
]


@pytest.mark.parametrize("case", CASES)
def test_the_librarys_own_program_visits_what_the_trainer_visited(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=case.model()) as server:
        trainer = {"id": case.trainer, "params": dict(case.params)}
        results, run_dir = run(
            tmp_path / "runs", server, [trainer], budget=dict(case.budget), tasks=[case.task], record=True
        )
    job_id = results[case.trainer].job_id
    assert results[case.trainer].status == "ok", said(run_dir, job_id)[-3000:]
    job = str(run_dir / "jobs" / job_id)
    done = trace_bench("verify", "--twin", job, "--no-overhead", "--json", folder=tmp_path, environ=os.environ)
    assert done.returncode in {0, 3}, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["jobs"]
    print(found)
    assert found["verdict"] in case.verdicts, found["words"]
    assert found["candidates"] > 3
