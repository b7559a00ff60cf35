"""The same library run by hand, without Trace-Bench, visits the same candidates as it does behind the door."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pytest
from plugins.tracebench_trainers_ext.tests.forms import in_form, written
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, needs, run, said

from tracebench_core.plugins.interpreters import find_python
from tracebench_engine.builtin.tasks import code_param
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]
BARE = Path(__file__).with_name("bare")
MOVES = ((1, 0), (0, 1), (1, 1), (-1, 0), (0, -1))


class Case(NamedTuple):
    """A trainer, the module of its library, the program that runs it by hand, and what both are set to."""

    trainer: str
    module: str
    script: str
    params: Mapping[str, Any] = MappingProxyType({})
    budget: Mapping[str, int] = MappingProxyType({})
    task: str = "internal:code_param"
    order: Literal["same", "any"] = "same"
    """`any` where several completions of one request arrive in any order."""
    model: Literal["walk", "list", "rules"] = "walk"
    """`list` for a library whose prompts differ from run to run: the model answers with one function after another."""
    python: str = "ext"
    """The named interpreter that may hold the library."""
    arguments: tuple[str, ...] = ()


NUMBER = "internal:numeric_param"
TOYS = Path(__file__).with_name("toys.py")
CASES = [
    pytest.param(case, marks=needs(case.trainer), id=case.trainer)
    for case in (
        Case("gepa-optimize", "gepa", "gepa_optimize", budget={"evaluations": 60}),
        Case("gepa-anything", "gepa", "gepa_anything", budget={"evaluations": 60}),
        Case("DSPy-COPRO", "dspy", "dspy_copro", {"breadth": 3, "depth": 3}, order="any"),
        Case("DSPy-MIPROv2", "dspy", "dspy_miprov2", {"num_trials": 10}),
        Case("DSPy-SIMBA", "dspy", "dspy_simba", task=f"{TOYS}:words", model="rules"),
        Case("DSPy-GEPA", "dspy", "dspy_gepa", budget={"evaluations": 60}),
        Case(
            "DSPy-BootstrapFewShot",
            "dspy",
            "dspy_bootstrap",
            {"max_bootstrapped_demos": 3, "max_labeled_demos": 4},
            task=f"{TOYS}:shots",
        ),
        Case("TextGrad", "textgrad", "textgrad_loop", {"num_steps": 8}),
        Case("AdalFlow", "adalflow", "adalflow_fit", {"max_steps": 4}),
        Case("OpenEvolve", "openevolve", "openevolve_run", {"iterations": 6}, model="list"),
        Case(
            "SkyDiscover-BestOfN",
            "skydiscover",
            "skydiscover_run",
            {"iterations": 6},
            model="list",
            arguments=("best_of_n",),
        ),
        Case(
            "SkyDiscover-AdaEvolve",
            "skydiscover",
            "skydiscover_run",
            {"iterations": 6},
            model="list",
            arguments=("adaevolve",),
        ),
        Case("ShinkaEvolve", "shinka", "shinka_run", {"iterations": 6}, model="list", python="shinka"),
        Case("Optuna", "optuna", "optuna_search", {"n_trials": 30}, task=NUMBER),
        Case("Nevergrad", "nevergrad", "nevergrad_search", {"n_trials": 30}, task=NUMBER),
    )
]


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


MODELS = {"walk": Script, "list": Row, "rules": Rules}


def moved(slope: int, shift: int) -> str:
    """Write a function down."""
    return f"def transform(x):\n    return {slope} * x + {shift}\n"


def by_hand(case: Case, folder: Path) -> list[Any]:
    """Run a library without Trace-Bench; return the candidates that it visits, in order."""
    python = sys.executable if find_spec(case.module) else find_python(case.python)
    splits = {s: [e.input for e in examples] for s, examples in code_param.build().splits.items()}
    environ = {
        "PATH": os.environ["PATH"],
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TQDM_DISABLE": "1",
        "HOME": str(folder),
    }
    data = [json.dumps(splits["train"]), json.dumps(splits["validation"])]
    with FakeOpenAI(reply=MODELS[case.model]()) as server:
        argv = [python, BARE / f"{case.script}.py", server.base_url, "7", *data, *case.arguments]
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    visited: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return visited


@pytest.mark.parametrize("case", CASES)
def test_the_library_by_hand_visits_the_same_candidates(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=MODELS[case.model]()) as server:
        trainer = {"id": case.trainer, "params": dict(case.params)}
        results, run_dir = run(tmp_path / "runs", server, [trainer], budget=dict(case.budget), tasks=[case.task])
    job_id = results[case.trainer].job_id
    assert results[case.trainer].status == "ok", said(run_dir, job_id)[-3000:]
    initial, *ours = [
        visited(c["values"]) for c in candidates(run_dir, job_id)
    ]  # recorded first, whenever it is measured
    hand = tmp_path / "hand"
    hand.mkdir()
    theirs = [found for found in distinct(by_hand(case, hand)) if found != initial]
    shared = min(len(ours), len(theirs)) if case.budget else len(theirs)
    assert shared > 3
    arranged = list if case.order == "same" else sorted
    assert arranged(ours[:shared]) == arranged(theirs[:shared]), said(run_dir, job_id)[-2000:]


def distinct(found: list[Any]) -> list[Any]:
    """Return candidates without those that came before."""
    return [one for place, one in enumerate(found) if one not in found[:place]]


def visited(values: dict[str, Any]) -> Any:
    """Return a candidate of one parameter as the programs by hand print it."""
    (value,) = values.values()
    return value.strip() if isinstance(value, str) else value
