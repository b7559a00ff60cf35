"""Whole runs with Harbor: an optimisation, caps that hold inside Harbor, and what a kill leaves. Skipped where there is no Harbor."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_terminalbench.tests.whole_runs import left, run_command

from tracebench_terminalbench import rules
from tracebench_terminalbench.found import Harbor
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(600)]
CONFIG = """
mode: real
seeds: [1]
job_timeout: 900
budget: {budget}
llm: {{provider: openai, model: rules, base_url: "{url}", prices: {{rules: {{prompt: 1.0, completion: 2.0}}}}}}
tasks: [{{id: "terminal_bench:{task}", eval_kwargs: {{agent_kwargs: {{max_turns: 10}}}}}}]
trainers: [{trainer}]
"""
SLOW = json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "sleep 999\n", "duration": 30}]})


def events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.glob("runs/*/jobs/*/events.jsonl"):
        yield from map(json.loads, path.read_text().splitlines())


def test_a_strict_validation_tries_each_task_with_its_solution_and_with_nothing(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    write_task("good", "test -e /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt")
    (tmp_path / "tasks/good/solution/solve.sh").write_text("#!/bin/bash\ntouch /app/done\n")
    write_task("free", "echo 1 > /logs/verifier/reward.txt")
    write_task("unsolved", "echo 0 > /logs/verifier/reward.txt")
    found = {}
    for name in ("good", "free", "unsolved"):
        config = tmp_path / "strict.yaml"
        config.write_text(
            f'mode: stub\ntasks: [{{id: "terminal_bench:{name}", eval_kwargs: {{harbor_env: local}}}}]\ntrainers: [NoOp]\n'
        )
        words = ["validate", "--strict", "--config", str(config), "--root", str(tmp_path / "tasks")]
        done = subprocess.run(
            [sys.executable, "-m", "tracebench_engine.cli", *words],
            check=False,
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        found[name] = (done.returncode, done.stdout + done.stderr)

    assert found["good"][0] == 0, found["good"]
    assert found["free"][0] != 0
    assert "`free` with the agent `nop` has the reward 1, not 0" in found["free"][1]
    assert found["unsolved"][0] != 0
    assert "`unsolved` with the agent `oracle` has the reward 0, not 1" in found["unsolved"][1]


def test_a_trainer_finds_the_advice_that_solves_the_tasks(harbor: Harbor, tmp_path: Path) -> None:
    with FakeOpenAI(reply=rules.answer) as server:
        trainer = "{id: SequentialRefine, params_variants: [{num_steps: 2}]}"
        done = subprocess.run(
            run_command(tmp_path, CONFIG.format(url=server.base_url, task="toys", trainer=trainer, budget="{}")),
            check=False, capture_output=True, text=True,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/jobs/*/results.json")]
    assert result["status"] == "ok"
    scores: dict[str, list[float]] = {}
    for event in events(tmp_path):
        if event["kind"] == "evaluation" and event["by"] == "trainer":
            scores.setdefault(event["candidate"], []).append(event["score"])
    assert [sum(found) for found in scores.values()] == [1.0, 2.0, 3.0]
    assert result["score_test"] == 1.0
    shown = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", "show", str(next(tmp_path.glob("runs/*/jobs/*"))), "--evaluation", "2"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "I write the answer without a look." in shown.stdout
    assert "  $ echo 'billing,1' > /app/errors.csv" in shown.stdout
    assert "verifier:\n  wrong: /app/errors.csv has" in shown.stdout


@pytest.mark.parametrize(
    ("cap", "axis"),
    [
        ("{llm_calls: 4}", "llm_calls"),
        ("{tokens: 4000}", "tokens"),
        ("{usd: 0.003}", "usd"),
        ("{seconds: 8}", "seconds"),
    ],
)
def test_a_cap_ends_harbor_and_leaves_nothing(harbor: Harbor, tmp_path: Path, cap: str, axis: str) -> None:
    waits = json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "", "duration": 0.5}]})
    with FakeOpenAI(reply=lambda _: waits) as server:
        done = subprocess.run(
            run_command(tmp_path, CONFIG.format(url=server.base_url, task="toy/hello-file", trainer="NoOp", budget=cap)),
            check=False, capture_output=True, text=True,
        )  # fmt: skip

    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/jobs/*/results.json")]
    assert result["stop_reason"] == f"budget:{axis}", done.stderr
    assert result["used"]["llm_calls"] <= 4 or axis != "llm_calls"
    assert left(tmp_path) == []


def test_a_model_that_goes_away_in_the_middle_is_nothing_measured(harbor: Harbor, tmp_path: Path) -> None:
    waits = json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "", "duration": 0.5}]})
    with FakeOpenAI(reply=lambda _: waits, script=[None, None], rates={"drop": 1.0}) as server:
        words = run_command(
            tmp_path, CONFIG.format(url=server.base_url, task="toy/hello-file", trainer="NoOp", budget="{}")
        )
        done = subprocess.run(
            [*words, "-o", "llm.outage_limit=0", "-o", "evaluation_retries=0"],
            check=False,
            capture_output=True,
            text=True,
        )

    assert done.returncode == 1, done.stderr
    assert len(server.log.served) == 2
    measured = [event for event in events(tmp_path) if event["kind"] == "evaluation"]
    assert {event["status"] for event in measured} == {"not_measured"}, measured
    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/jobs/*/results.json")]
    assert result["status"] == "failed", result
    assert left(tmp_path) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_no_process_and_no_mount(
    harbor: Harbor, tmp_path: Path, sent: signal.Signals
) -> None:
    with FakeOpenAI(reply=lambda _: SLOW) as server:
        runner = subprocess.Popen(
            run_command(tmp_path, CONFIG.format(url=server.base_url, task="toys", trainer="NoOp", budget="{}")),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 300
        while len([words for _, words in left(tmp_path) if ".sandbox-" in words]) < 3 or not server.log.requests:
            assert time.monotonic() < deadline, "the sandboxes did not start"
            assert runner.poll() is None
            time.sleep(0.2)
        started = time.monotonic()
        runner.send_signal(sent)
        while left(tmp_path):
            assert time.monotonic() < deadline, left(tmp_path)
            time.sleep(0.1)
        print(f"{sent.name}: nothing left after {time.monotonic() - started:.1f} s")
        runner.wait()
