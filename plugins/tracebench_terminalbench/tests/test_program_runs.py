"""Programs as agents in real sandboxes: their code is improved, and what goes wrong with them is told. Skipped where there is no Harbor."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.tracebench_terminalbench.tests.test_harbor import job
from plugins.tracebench_terminalbench.tests.whole_runs import left, run_command

from tracebench_terminalbench import rules
from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.program import OWN
from tracebench_terminalbench.trials import Trial, read_trials
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(900)]
CONFIG = """
mode: real
seeds: [1]
job_timeout: 900
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {{prompt: 1.0, completion: 2.0}}}}}}
tasks: [{{id: "terminal_bench:toys", eval_kwargs: {{agent: folder, optimize: files}}}}]
trainers: [{{id: SequentialRefine, params_variants: [{{num_steps: 2}}]}}]
"""
FILES = {"agent": "folder", "optimize": "files", "harbor_env": "local"}
DONE = "test -e /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt"


def test_an_agent_s_own_code_is_improved_and_what_it_gains_holds_on_tasks_that_nobody_saw(
    harbor: Harbor, tmp_path: Path
) -> None:
    with FakeOpenAI(reply=rules.answer) as server:
        done = subprocess.run(
            run_command(tmp_path, CONFIG.format(url=server.base_url)), check=False, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("runs/*/jobs/*/results.json")
    result = json.loads(path.read_text())
    assert (result["score_val_initial"], result["score_val_best"]) == (pytest.approx(1 / 3), 1.0)
    assert (result["score_test_initial"], result["score_test"]) == (0.0, 1.0)
    assert (result["proposals"]["usable"], result["best_candidate"]) == (2, "c2")
    shown = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", "show", str(path.parent), "--evaluation", "2"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "I write the answer without a look." in shown.stdout
    assert left(tmp_path) == []


def trial_of(harbor: Harbor, folder: Path, task: Path, code: str, server: FakeOpenAI) -> Trial:
    own = folder / "own"
    own.mkdir()
    (own / "main.py").write_text(code)
    options = {**FILES, "agent_folder": str(own)}
    value = {"main.py": code}
    ended = job(harbor, folder / "job", [Case(task.name, task)], options=options, text=value, server=server)  # type: ignore[arg-type]
    (trial,) = read_trials(ended.folder)
    return trial


def test_a_program_that_fails_may_be_the_candidate_s_fault_and_one_whose_model_is_away_is_not(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    task = write_task("own", DONE)
    with FakeOpenAI(reply=rules.answer) as server:
        (tmp_path / "a").mkdir()
        failed = trial_of(harbor, tmp_path / "a", task, "raise SystemExit('no idea')", server)
    assert (failed.reward, failed.suspect) == (None, True)
    assert "ended with exit code 1: no idea" in failed.error
    with FakeOpenAI(reply=rules.answer, rates={"500": 1.0}) as server:
        (tmp_path / "b").mkdir()
        lost = trial_of(
            harbor,
            tmp_path / "b",
            task,
            (OWN / "main.py").read_text().replace('with_name("prompt.md").read_text()', "name"),
            server,
        )
    assert (lost.reward, lost.suspect) == (None, False)
    assert "the agent's model was away: HTTP/1.1 500" in lost.error
    assert left(tmp_path) == []


PRESET = """#!/usr/bin/python3
import json, os, sys, urllib.request
task = sys.argv[sys.argv.index("--task") + 1]
body = json.dumps({"model": sys.argv[sys.argv.index("--model") + 1], "messages": [{"role": "user", "content": task}]}).encode()
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_API_BASE"] + "/chat/completions", body, headers)).read()
print("my key is", os.environ["OPENAI_API_KEY"])
open("done", "w").close()
"""


def test_a_preset_solves_a_task_whose_image_brings_it(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    task = write_task("preset", DONE, dockerfile="WORKDIR /app\nCOPY mini /usr/local/bin/mini\n")
    (task / "environment/mini").write_text(PRESET)
    (task / "environment/mini").chmod(0o755)
    options = {"agent": "preset:mini-swe-agent", "optimize": "extra_instructions", "harbor_env": "local"}
    with FakeOpenAI(reply=rules.answer) as server:
        ended = job(harbor, tmp_path / "job", [Case("preset", task)], options=options, text="Be quick.", server=server)
        asked = server.log.requests
    (trial,) = read_trials(ended.folder)
    assert (trial.reward, trial.error) == (1.0, "")
    assert [request["messages"][0]["content"].strip()[-9:] for request in asked] == ["Be quick."]
