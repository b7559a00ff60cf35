"""Coding agents: scripted stand-ins, one for each vendor's wire, work in a folder, measure by the tool, and spend by the gateway."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, run, said
from tests.whole import HEAVY

from tracebench_testing.fake_openai import FakeOpenAI

AGENT = """
import json, os, pathlib, subprocess, sys, urllib.request

assert "transform" in pathlib.Path("TASK.md").read_text() and "transform" in sys.argv[1]
WIRE = "{wire}"

def ask(words):
    message = {{"role": "user", "content": words}}
    if WIRE == "openai":
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
        body = {{"model": os.environ["OPENAI_MODEL"], "messages": [message]}}
    elif WIRE == "google":
        url = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/" + os.environ["GEMINI_MODEL"] + ":generateContent"
        headers = {{"x-goog-api-key": os.environ["GEMINI_API_KEY"]}}
        body = {{"contents": [{{"parts": [{{"text": words}}]}}]}}
    else:
        url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
        headers = {{"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}}
        body = {{"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 100, "messages": [message]}}
    request = urllib.request.Request(url, json.dumps(body).encode(), {{"Content-Type": "application/json", **headers}})
    answer = json.loads(urllib.request.urlopen(request).read())
    if WIRE == "google":
        return answer["candidates"][0]["content"]["parts"][0]["text"]
    return answer["choices"][0]["message"]["content"] if WIRE == "openai" else answer["content"][0]["text"]

feedback = subprocess.run(["./evaluate"], capture_output=True, text=True, env={{"PATH": os.environ["PATH"]}}).stdout
for turn in range(2):
    pathlib.Path("code.py").write_text(ask(f"turn {{turn}}\\n" + feedback))
    done = subprocess.run(["./evaluate"], capture_output=True, text=True)
    feedback = done.stdout
    print(feedback, flush=True)
    if done.returncode == 75:
        sys.exit(0)
"""


def improve(messages: list[dict[str, Any]]) -> str:
    words = str(messages[-1]["content"])
    assert "expected" in words
    return f"def transform(x):\n    return {'2 * x' if 'turn 0' in words else '2 * x + 1'}\n"


def work(tmp_path: Path, wire: str, **config: Any) -> Any:
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(wire=wire))
    trainer = {"id": "Agent", "params": {"argv": [sys.executable, str(script), "Please: {task}"]}}
    with FakeOpenAI(reply=improve) as server:
        results, run_dir = run(tmp_path / "runs", server, [trainer], **config)
        served = len(server.log.served)
    return results["Agent"], run_dir, served


@pytest.mark.parametrize("wire", ["openai", *(pytest.param(wire, marks=HEAVY) for wire in ("anthropic", "google"))])
def test_an_agent_on_any_wire_improves_the_task_and_pays_by_the_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    result, run_dir, served = work(tmp_path, wire)
    words = said(run_dir, result.job_id)
    assert result.status == "ok", (result.error, words)
    assert (result.score_val_best, result.used.llm_calls, served) == (1.0, 2, 2), words
    assert [c["parents"] for c in candidates(run_dir, result.job_id)] == [[], ["c0"], ["c1"]]


WANDERS = """
import pathlib, subprocess

for lines, how in ((("return 2 * x + 1",), "whole"), (("return x + 1", "return 2 * x"), "part")):
    for line in lines:
        pathlib.Path("code.py").write_text(f"def transform(x):\\n    {{line}}\\n")
        subprocess.run(["./evaluate", *([] if how == "{whole}" else ["--examples", "1"])])
with open("history.jsonl", "a") as history:
    history.write("not ours\\n")
"""


@pytest.mark.parametrize(
    ("whole", "cap"), [("whole", 6), *(pytest.param(left, 60, marks=HEAVY) for left in ("whole", "none"))]
)
def test_what_an_agent_found_wins_whatever_it_leaves_and_whatever_the_cap(tmp_path: Path, whole: str, cap: int) -> None:
    """It measures the solution first, on all of train or on one example alone, then worse, and leaves that."""
    script = tmp_path / "agent.py"
    script.write_text(WANDERS.format(whole=whole))
    trainer = {"id": "Agent", "params": {"argv": [sys.executable, str(script)]}}
    with FakeOpenAI(reply=improve) as server:
        results, run_dir = run(tmp_path / "runs", server, [trainer], mode="stub", llm={}, budget={"evaluations": cap})
    result = results["Agent"]
    words = said(run_dir, result.job_id)
    assert result.status == "ok", (result.error, words)
    assert result.score_val_best == 1.0, words


def test_an_agent_is_told_when_its_budget_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    result, run_dir, _ = work(tmp_path, "openai", budget={"evaluations": 4})
    assert (result.status, result.stop_reason, result.used.evaluations) == ("ok", "budget:evaluations", 4)
    assert "The budget is spent" in said(run_dir, result.job_id)


def test_an_agent_that_never_measures_and_ends_badly_fails_its_job(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=improve) as server:
        results, _ = run(tmp_path, server, [{"id": "Agent", "params": {"argv": [sys.executable, "-c", "exit(3)"]}}])
    assert results["Agent"].status == "failed"
    assert "code 3" in str(results["Agent"].error)
