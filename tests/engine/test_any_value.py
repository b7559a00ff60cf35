"""The law of values: whatever enters a run, every reader gives a right answer or a named failure, and other jobs go on."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.warm import trace_bench

from tracebench_core.averages import LARGEST, mean, total, variance
from tracebench_core.specs.events import EvaluationDone
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run

VALUES = {
    "largest": "1.797e308",
    "lowest": "-1.797e308",
    "bound": "1e150",
    "tiny": "5e-324",
    "minus_zero": "-0.0",
    "nan": "float('nan')",
    "infinite": "float('inf')",
    "minus_infinite": "-float('inf')",
    "past_int64": "2**63",
    "googols": "10**400",
    "smuggled_nan": "Smuggled(float('nan'))",
    "smuggled_text": "Smuggled('high')",
    "half_text": "Feedback(score=1.0, text='half \\ud800 of a character')",
    "half_metric": "Feedback(score=1.0, metrics={'half \\ud800': 1.0})",
    "long_text": "Feedback(score=1.0, text='x' * 100_000_000)",
    "huge_metric": "Feedback(score=1.0, metrics={'loss': 1.797e308})",
    "lost_metric": "Feedback(score=1.0, metrics={'loss': float('nan')})",
}
RIGHT = {"bound", "tiny", "minus_zero", "past_int64", "half_text", "half_metric", "long_text"}
"""What may be measured; everything else is a named failure."""
PLUGIN = f"""
import json, os
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

def Smuggled(score): return Feedback.model_construct(score=score, text="", metrics={{}}, status="ok")

VALUES = {{{", ".join(f'"{name}": lambda: {text}' for name, text in VALUES.items())}}}

class Settings(BaseModel, extra="forbid"):
    pass

class Any_:
    objective = "give a value"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {{"train": [Example(id="a"), Example(id="b")], "test": [Example(id="t"), Example(id="u")]}}
    def __init__(self, quits): self.quits = quits
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        if self.quits and example.id == "t":
            os._exit(12)  # what the engine's own processes say when a result lies there
        value = list(VALUES.values())[int(output) - 1]() if 0 < output < 100 else 0.5
        return value if isinstance(value, Feedback) else {{"score": value, "metrics": {{"loss": value}}}}

class Tries:
    def __init__(self, settings): pass
    def train(self, problem):
        for number in range(1, len(VALUES) + 1):
            problem.evaluate({{"x": float(number)}}, origin="tried")
        problem.evaluate({{"x": 1.7e308}}, origin="far")
        problem.log("far", 1.7e308)

class Forges:
    def __init__(self, settings): pass
    def train(self, problem):
        problem.evaluate({{"x": 1.0}}, origin="found")
        lines = [json.loads(line) for line in open("../events.jsonl")]
        told = [line for line in lines if line["kind"] == "evaluation"]
        with open("../events.jsonl", "a") as log:
            for number, line in enumerate(told, start=len(lines)):
                log.write(json.dumps(line | {{"seq": number, "score": -1.797e308}}) + "\\n")
        os._exit(7)

def build_any(): return Any_(False)
def build_quits(): return Any_(True)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"fake_values:build_{{n}}", title=n, worst_score=-1.0) for n in ("any", "quits")]

@hookimpl
def tracebench_trainers():
    common = {{"settings": "fake_values:Settings", "uses_model": False}}
    return [TrainerSpec(name=n, loader=f"fake_values:{{n}}", **common) for n in ("Tries", "Forges")]
"""


def test_every_value_is_measured_or_named_and_read_by_everything(
    install_plugin: Callable[..., None], tmp_path: Path
) -> None:
    install_plugin("values", PLUGIN)
    config = {
        "mode": "stub",
        "tasks": ["values:any"],
        "trainers": ["NoOp", "Tries", {"id": "BestOfN", "params_variants": [{"n": 2}]}],
        "seeds": [1, 2],
        "llm": {"record": True},
        "runs_dir": str(tmp_path / "runs"),
    }
    measured = api.run(parse_config({**config, "max_workers": 2}), stream=io.StringIO()).run_dir
    run = api.load_run(measured)
    assert [(r.trainer_id, r.error) for r in run.results.values() if r.status != "ok"] == []
    for job_id, result in run.results.items():
        assert all(abs(score) <= LARGEST for score in (result.score_test, result.score_val_best) if score is not None)
        if result.trainer_id == "Tries":
            seen: dict[str, set[str]] = {}
            for event in run.events(job_id):
                if isinstance(event, EvaluationDone) and event.split == "train":
                    seen.setdefault(event.candidate, set()).add(event.status)
            for number, name in enumerate(VALUES, start=1):
                assert seen[f"c{number}"] == {"ok" if name in RIGHT else "invalid"}, name
    out = tmp_path / "out"
    out.mkdir()
    for command in [
        ["show", str(measured)],
        ["show", str(measured), "--json"],
        *(["show", str(measured / "jobs" / job_id)] for job_id in run.results),
        ["runs", "--runs-dir", str(measured.parent)],
        ["compare", str(measured)],
        ["compare", str(measured), "--json"],
        *(
            ["report", str(measured), "-o", str(out / f"report{ending}")]
            for ending in (".html", ".md", ".xml", ".csv", ".json")
        ),
        ["recap", str(measured), "--max-evaluations", "2"],
        ["export", str(measured), "--to", str(out / "table")],
        ["fsck", str(measured)],
        ["resume", str(measured)],
        ["replay", str(measured)],
    ]:
        done = trace_bench(*command, folder=tmp_path, environ=dict(os.environ))
        said = done.stdout + done.stderr
        assert done.returncode == 0 or "is not installed" in said, (command, said)
        assert "Traceback" not in said, (command, said)
        assert "internal error" not in said, (command, said)
    assert check_run(measured) == []


def test_a_job_whose_files_make_no_result_fails_alone(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    config = {"tasks": ["values:quits", "values:any"], "trainers": ["Tries"], "runs_dir": str(tmp_path / "runs")}
    summary = api.run(parse_config(config), stream=io.StringIO())
    run = api.load_run(summary.run_dir)
    broken, sound = run.results.values()
    assert (summary.exit_code, broken.status, sound.status) == (1, "failed", "ok")
    assert broken.error is not None
    assert "cannot be made a result" in broken.error.message
    assert broken.used.evaluations > 2 * len(VALUES)
    assert check_run(summary.run_dir) == []


def test_huge_scores_in_a_log_keep_no_run_from_going_on(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    config = {"tasks": ["values:any"], "trainers": ["Forges", "NoOp"], "runs_dir": str(tmp_path / "runs")}
    summary = api.run(parse_config(config), stream=io.StringIO())
    forged, sound = api.load_run(summary.run_dir).results.values()
    assert (forged.status, sound.status) == ("failed", "ok")
    assert forged.error is not None
    assert "exit code 7" in forged.error.message
    for command in ("fsck", "resume", "show"):
        done = trace_bench(command, str(summary.run_dir), folder=tmp_path, environ=dict(os.environ))
        assert done.returncode in {0, 1}, (command, done.stdout + done.stderr)
        assert "Traceback" not in done.stderr


def test_averages_hold_for_any_floats() -> None:
    big = sys.float_info.max
    assert mean([big, big]) == big
    assert mean([big, big, -big]) == pytest.approx(big / 3)
    assert total([big, big, -big]) == big
    assert total([big, big]) == math.inf
    assert math.isnan(mean([math.inf, -math.inf]))
    assert variance([big, -big]) == math.inf
    assert mean([0.1] * 10) == math.fsum([0.1] * 10) / 10
