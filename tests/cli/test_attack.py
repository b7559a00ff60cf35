"""`trace-bench attack`: what a suite withstands is counted, and what is believed is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import HEAVY, SOAK

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
    command = [sys.executable, "-m", "tracebench_engine.cli", "attack", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=580, cwd=at)


@SOAK  # `tests/docs/test_register.py` has one that holds
@pytest.mark.timeout(600)
def test_a_task_that_holds_says_how_many_it_withstood(tmp_path: Path) -> None:
    done = attack("internal:code_param", "internal:numeric_param", "--json", at=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["believed"]) == (0, 0), done.stderr
    assert told["withstood"] >= 10
    assert {task["task"]: task["skipped"] for task in told["tasks"]}[
        "internal:numeric_param"
    ] == "does not apply: it runs no code of candidates"


@HEAVY
@pytest.mark.timeout(600)
def test_a_task_that_believes_what_it_is_told_falls(tmp_path: Path) -> None:
    (tmp_path / "gullible.py").write_text(GULLIBLE)
    done = attack("./gullible.py:task", at=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "a forged figure is believed" in done.stdout
    assert "note: it has no case of kind `forged` of its own" in done.stdout


PLUGIN = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import AttackSpec, Requirement
from tracebench_testing.attacks import Forgery

@hookimpl
def tracebench_attacks():
    absent = Requirement(kind="module", name="no_such_module", hint="pip install no-such-module")
    return [
        AttackSpec(name="ours", title="Ours", loader="raiders:forgeries"),
        AttackSpec(name="absent", title="Cannot run", loader="raiders:forgeries", requires=(absent,)),
    ]

def forgeries(target):
    seen = []
    def look(feedbacks):
        seen.extend(feedback.score for feedback in feedbacks)
        return ""
    yield Forgery("how it answers", target.honest, gained=look, is_attack=False)
    yield f"it was looked at {len(seen)} times"
    [(parameter, _)] = target.functions()
    yield Forgery("harmless", target.wrapped("pass", parameter=parameter), no_more_than=target.honest)
    yield Forgery("takes it", target.wrapped("pass", parameter=parameter), gained=lambda feedbacks: f"all of {len(feedbacks)}")
"""


@HEAVY
@pytest.mark.timeout(600)
def test_attacks_of_an_installed_plugin_are_tried_on_any_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raiders.py").write_text(PLUGIN)
    info = tmp_path / "raiders-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: raiders\nVersion: 1.0\nRequires-Dist: tracebench-core\n"
    )
    (info / "entry_points.txt").write_text("[tracebench]\nraiders = raiders\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TRACEBENCH_PLUGINS", "raiders")

    done = attack("internal:code_param", "--json", at=tmp_path)

    told = json.loads(done.stdout)
    [task] = told["tasks"]
    assert done.returncode == 1
    assert task["by"]["ours"] == 1
    assert task["by"]["forgeries"] > 10
    assert task["believed"] == ["`takes it` gains: all of 3"]
    assert "it was looked at 3 times" in task["skipped"]
    assert "the attacks `absent`: " in task["skipped"]
    assert told["attackers"]["raiders"] == "1.0"
    assert told["withstood"] == sum(task["by"].values())
