"""The red team's candidates on a suite of somebody else: one that runs them in its own process falls, the same one in the sandbox holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracebench_sandbox.host import level

OURS = """
from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Example, Feedback, Parameter, TaskSpec

class Double:
    objective = "Double it."
    parameters = (Parameter(name="code", initial="def double(x):\\n    return x\\n", kind="code", signature="def double(x)"),)
    splits = {{s: (Example(id=s, input=3, reference=6),) for s in ("train", "validation", "test")}}
    def run(self, values, example, context):
        {run}
    def guide(self, example, output, context):
        return Feedback(score=float(output == example.reference), text=f"It returned {{output!r}}.")

def build(): return Double()
task = TaskSpec(name="double", loader=f"{{__name__}}:build", title="Double", sandbox=())
"""
IN_PROCESS = """
        names = {}
        try:
            exec(values["code"], names)
            return names["double"](example.input)
        except Exception as err:
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=str(err)))
"""
HELD = """
        outcome = context.sandbox.call(values["code"], "double", example.input)
        if outcome.status != "ok":
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
        return outcome.value
"""


def attacked(folder: Path, run: str) -> dict[str, Any]:
    (folder / "ours.py").write_text(OURS.format(run=run.strip()))
    command = [sys.executable, "-m", "tracebench_engine.cli", "attack", "./ours.py:task", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=folder)
    return dict(json.loads(done.stdout))


@pytest.mark.timeout(600)
@pytest.mark.heavy("redteam")
def test_a_suite_that_runs_candidates_in_its_own_process_falls(tmp_path: Path) -> None:
    [task] = attacked(tmp_path, IN_PROCESS)["tasks"]
    said = "\n".join(task["believed"])
    for kind in (
        "reads a key", "reads a rival's result", "reads test instances", "reads another run's prompts", "writes a rival's result",
        "writes the engine's code", "writes a file at home", "writes test instances", "reaches an agent's socket",
        "reaches the control of runs", "reaches an abstract socket", "calls a server", "signals a process", "reads an environment",
        "a number that equals everything", "an object that is whatever is asked", "the truth, by its callers' frames",
        "an answer that acts when it is looked at", "leaves behind a grandchild",
    ):  # fmt: skip
        assert f"code: {kind}" in said


@pytest.mark.timeout(600)
@pytest.mark.heavy("redteam")
@pytest.mark.skipif(level() == "process", reason="this host has no sandbox for candidates")
def test_the_same_suite_in_the_sandbox_holds(tmp_path: Path) -> None:
    told = attacked(tmp_path, HELD)
    [task] = told["tasks"]
    assert task["believed"] == []
    assert task["skipped"] == ""
    assert task["by"]["redteam"] == 31
    assert {"tracebench-core", "tracebench-redteam"} <= told["attackers"].keys()
