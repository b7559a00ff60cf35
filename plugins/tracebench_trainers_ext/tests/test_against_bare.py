"""The same library run by hand, without Trace-Bench, visits the same candidates as it does behind the door."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, needs, run, said

from tracebench_core.builtin.tasks import code_param
from tracebench_core.plugins.interpreters import find_python
from tracebench_core.testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("trainers_ext"), pytest.mark.timeout(600)]
BARE = Path(__file__).with_name("bare")
MOVES = ((1, 0), (0, 1), (1, 1), (-1, 0), (0, -1))


class Case(NamedTuple):
    """A trainer, the module of its library, the program that runs it by hand, and what both are set to."""

    trainer: str
    module: str
    script: str
    params: dict[str, Any]
    budget: dict[str, int]
    ordered: bool = True
    """False where several completions of one request arrive in any order."""


CASES = [
    pytest.param(case, marks=needs(case.trainer), id=case.trainer)
    for case in (
        Case("gepa-optimize", "gepa", "gepa_optimize", {}, {"evaluations": 60}),
        Case("DSPy-COPRO", "dspy", "dspy_copro", {"breadth": 3, "depth": 3}, {}, ordered=False),
        Case("TextGrad", "textgrad", "textgrad_loop", {"num_steps": 8}, {}),
    )
]


class Script:
    """A model that moves the function which a prompt shows last; where it goes depends on the function and on how often it was shown."""

    def __init__(self) -> None:
        self._shown: Counter[tuple[int, int]] = Counter()

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        prompt = "\n\n".join(str(m.get("content") or "") for m in messages)
        found = re.findall(r"return (?:(-?\d+) \* )?x \+ (-?\d+)", prompt)
        place = (int(found[-1][0] or 1), int(found[-1][1])) if found else (1, 1)
        step = MOVES[self._shown[place] % len(MOVES)]
        self._shown[place] += 1
        code = f"def transform(x):\n    return {place[0] + step[0]} * x + {place[1] + step[1]}\n"
        if "<IMPROVED_VARIABLE>" in prompt:
            return f"<IMPROVED_VARIABLE>{code}</IMPROVED_VARIABLE>"
        if fields := list(dict.fromkeys(re.findall(r"\[\[ ## (\w+) ## \]\]", prompt))):
            return "\n\n".join(f"[[ ## {f} ## ]]\n{'' if f == 'completed' else code}" for f in fields)
        return f"```python\n{code}```"


def by_hand(module: str, script: str) -> list[str]:
    """Run a library without Trace-Bench; return the candidates that it visits, in order."""
    python = sys.executable if find_spec(module) else find_python("ext")
    splits = {s: [e.input for e in examples] for s, examples in code_param.build().splits.items()}
    environ = {
        "PATH": os.environ["PATH"],
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TQDM_DISABLE": "1",
        "HOME": "/nowhere",
    }
    with FakeOpenAI(reply=Script()) as server:
        argv = [
            python,
            BARE / f"{script}.py",
            server.base_url,
            "7",
            json.dumps(splits["train"]),
            json.dumps(splits["validation"]),
        ]
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=300, check=False, cwd="/tmp")
    assert done.returncode == 0, done.stderr[-3000:]
    visited: list[str] = json.loads(done.stdout.splitlines()[-1])
    return visited


@pytest.mark.parametrize("case", CASES)
def test_the_library_by_hand_visits_the_same_candidates(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=Script()) as server:
        trainer = {"id": case.trainer, "params": case.params}
        results, run_dir = run(tmp_path, server, [trainer], budget=case.budget)
    job_id = results[case.trainer].job_id
    ours = [c["values"]["code"].strip() for c in candidates(run_dir, job_id)]
    initial, *ours = ours  # recorded first, whenever the library measures it
    theirs = [code for code in by_hand(case.module, case.script) if code != initial]
    shared = min(len(ours), len(theirs)) if case.budget else len(theirs)
    assert shared > 3
    arranged = list if case.ordered else sorted
    assert arranged(ours[:shared]) == arranged(theirs[:shared]), said(run_dir, job_id)[-2000:]
