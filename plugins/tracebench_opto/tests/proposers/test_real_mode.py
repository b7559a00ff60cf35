"""The command in real mode against a local server: a code task and a traced task, improved by each kind of optimizer."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

pytest.importorskip("opto", reason="opto is an extra of this plugin")

from tracebench_core.proposing.answer_format import shown_values
from tracebench_testing.fake_openai import FakeOpenAI

CODE = "def transform(x):\n    return 2 * x + 1  # by default\n"
GREETING = "Hello, dear (TERMINATE)"
OPTIMIZERS = ("OptoPrime", "OPRO", "TextGrad", "Reflective")

TRACED_PLUGIN = """
from tracebench_core import hookimpl
from tracebench_core.specs import Example, Feedback, Parameter, SuiteSpec, TaskSpec

@hookimpl
def tracebench_suite():
    return SuiteSpec(title="Traced greetings")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="hello", loader="greetings:build", title="Greet warmly", traced=True)]

def build():
    from tracebench_opto.bridge.library import load
    trace = load("opto.trace")

    class Greeter(trace.Module):
        def __init__(self):
            self.greeting = trace.node("Hello", name="greeting", trainable=True)

        def forward(self, name):
            return self.greeting + ", " + name

    class Task:
        parameters = [Parameter(name="greeting", initial="Hello", description="How to begin.")]
        objective = "Greet warmly."
        splits = {"train": [Example(id="a", input="Ada"), Example(id="b", input="Bob")]}

        def trace_agent(self):
            return Greeter()

        def run(self, values, example, context):
            agent = Greeter()
            agent.greeting._set(values["greeting"])
            return agent(example.input).data

        def guide(self, example, output, context):
            return Feedback(score=float("dear" in output), text=f"{output!r} could be warmer")

    return Task()
"""


def answer(messages: list[dict[str, Any]]) -> str:
    """Know both answers, and give them in the format that the prompt asks for. A rule, no model."""
    prompt = "\n".join(m["content"] for m in messages)
    value = CODE if "transform" in prompt else GREETING
    if (shown := shown_values(prompt)) is not None:
        return json.dumps({"reasoning": "known", "values": dict.fromkeys(shown, value)})
    if "{the improved variable}" in prompt:
        return f"<IMPROVED_VARIABLE>{value}</IMPROVED_VARIABLE>"
    if "Output_format" in prompt:
        names = re.findall(r'^\((?:code|str)\) ((?:code|greeting)\w*?\d+)[:=]|^ {8}"(\w+)": ', prompt, re.MULTILINE)
        return json.dumps({"suggestion": {first or second: value for first, second in names}})
    return "Be warmer, and right."


@HEAVY
def test_each_optimizer_improves_a_code_task_and_a_traced_task_in_real_mode(tmp_path: Path) -> None:
    info = tmp_path / "site" / "greetings-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\ngreetings = greetings\n")
    (info.parent / "greetings.py").write_text(TRACED_PLUGIN)
    with FakeOpenAI(reply=answer) as server:
        config = {
            "mode": "real",
            "runs_dir": str(tmp_path / "runs"),
            "llm": {"provider": "openai", "model": "local", "base_url": server.base_url, "api_key_env": "LOCAL_KEY"},
            "seeds": [1],
            "tasks": ["internal:code_param", "greetings:hello"],
            "trainers": [
                {"id": "SequentialRefine", "optimizer": name, "params_variants": [{"num_steps": 1}]}
                for name in OPTIMIZERS
            ],
        }
        (tmp_path / "run.yaml").write_text(json.dumps(config))
        done = subprocess.run(
            [str(Path(sys.executable).with_name("trace-bench")), "run", "--config", "run.yaml", "--max-workers", "2"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(info.parent), "LOCAL_KEY": "sk-local-0123456789"},
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    [table] = (tmp_path / "runs").glob("*/results.csv")
    rows = [*csv.DictReader(table.read_text().splitlines())]
    best = {
        (row["task_id"], row["optimizer"].split()[0]): (row["status"], float(row["score_val_best"])) for row in rows
    }
    tasks = ("internal:code_param", "greetings:hello")
    assert best == {(task, name): ("ok", 1.0) for task in tasks for name in OPTIMIZERS}
    assert len(server.log.served) == sum(int(row["llm_calls"]) for row in rows)
