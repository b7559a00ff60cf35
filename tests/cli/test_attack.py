"""`trace-bench attack`: what a suite withstands is counted, and what is believed is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

GULLIBLE = """
from tracebench_core.specs import Calibration, Example, Feedback, Parameter, TaskSpec

class Gullible:
    objective = "Return one."
    parameters = (Parameter(name="code", initial="def one(x):\\n    return 1\\n", kind="code", signature="def one(x)"),)
    splits = {s: (Example(id=s, input=1),) for s in ("train", "validation", "test")}
    def run(self, values, example, context): return context.sandbox.call(values["code"], "one", 1).value
    def guide(self, example, output, context): return Feedback(score=float(output))
    def calibrations(self): return [Calibration(name="one", kind="gold", expected=1.0)]

def build(): return Gullible()
task = TaskSpec(name="gullible", loader=f"{__name__}:build", title="Gullible", sandbox=())
"""


def attack(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracebench_core.cli", "attack", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=at)


def test_a_task_that_holds_says_how_many_it_withstood(tmp_path: Path) -> None:
    done = attack("internal:code_param", "internal:numeric_param", "--json", at=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["believed"]) == (0, 0), done.stderr
    assert told["withstood"] >= 10
    assert {task["task"]: task["skipped"] for task in told["tasks"]}[
        "internal:numeric_param"
    ] == "does not apply: it runs no code of candidates"


def test_a_task_that_believes_what_it_is_told_falls(tmp_path: Path) -> None:
    (tmp_path / "gullible.py").write_text(GULLIBLE)
    done = attack("./gullible.py:task", at=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a forged figure is believed" in done.stdout
