"""What a run says that it took of processors: training, scoring and candidates' code alike, and nothing of another run."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

from tracebench_engine import api
from tracebench_engine.config import parse_config

BURNT = 0.4
BURNER = """
import time
BURNT = 0.4
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Burner:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a")], "test": [Example(id="t")]}
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        if example.id == SPLIT:
            end = time.process_time() + BURNT
            while time.process_time() < end: pass
        return Feedback(score=output)

def build(split):
    global SPLIT
    SPLIT = split
    return Burner()
def build_training(): return build("a")
def build_scoring(): return build("t")
def build_neither(): return build("")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"fake_burner:build_{n}", title=n) for n in ("training", "scoring", "neither")]
"""


def test_a_run_counts_the_processes_that_score_and_nothing_of_another_run(
    install_plugin: Callable[..., None], tmp_path: Path
) -> None:
    install_plugin("burner", BURNER)

    def seconds(task: str) -> float:
        config = {"tasks": [f"burner:{task}"], "trainers": ["NoOp"], "runs_dir": str(tmp_path / "runs"), "mode": "stub"}
        before = time.process_time()
        summary = api.run(parse_config(config), stream=io.StringIO())
        assert summary.counts == {"ok": 1}
        took = json.loads((summary.run_dir / "summary.json").read_text())["cpu_seconds"]
        assert took >= time.process_time() - before - 0.5  # planning is not the run's
        return float(took)

    training, scoring, neither = seconds("training"), seconds("scoring"), seconds("neither")

    assert scoring >= 2 * BURNT  # the initial and the best candidate
    assert training >= 2 * BURNT  # each is measured again, for the choice
    assert neither < training + scoring  # which it would contain, if all that this process ever took were its own
