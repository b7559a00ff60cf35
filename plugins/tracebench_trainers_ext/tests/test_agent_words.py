"""What an agent is told and what is told of one: words in braces, presets by name, silence."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.coder import STAGES, Coder
from plugins.tracebench_trainers_ext.tests.scripted import KEY, improve, run, said
from pydantic import ValidationError
from tests.warm import trace_bench
from tests.whole import HEAVY, one_in

from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.plugins.agents import VARIABLE, find_agent
from tracebench_core.specs import AgentSpec
from tracebench_engine import api
from tracebench_engine.api.agents import find_preset
from tracebench_engine.config import parse_config
from tracebench_testing.fake_openai import FakeOpenAI
from tracebench_trainers_ext.agents import AGENTS
from tracebench_trainers_ext.settings.agent import AgentSettings


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)


def work(folder: Path, params: dict[str, Any]) -> Any:
    with FakeOpenAI(reply=improve) as server:
        results, run_dir = run(folder / "runs", server, [{"id": "Agent", "params": params}])
    result = results["Agent"]
    return result, run_dir, said(run_dir, result.job_id)


def test_every_word_in_braces_of_a_command_and_its_environment_is_filled_in(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, os, pathlib, subprocess, sys\n"
        "task, url, host, model, key, workdir, *files = sys.argv[1:]\n"
        "assert 'transform' in task and url == host + '/v1' == os.environ['OPENAI_BASE_URL'], sys.argv\n"
        "assert workdir == os.getcwd() and key == os.environ['OPENAI_API_KEY'] and files == ['code.py'], sys.argv\n"
        "assert os.environ['CONFIG'] == json.dumps({'url': url, 'home': os.environ['HOME']}), os.environ['CONFIG']\n"
        "assert model == os.environ['OPENAI_MODEL'] == 'fake-model'\n"
        f"pathlib.Path('code.py').write_text({STAGES[-1]!r})\n"
        "subprocess.run(['./evaluate'], check=True)\n"
    )
    words = ["{task}", "{base_url}", "{host_url}", "{model}", "{key}", "{workdir}", "{files}"]
    env = {"CONFIG": json.dumps({"url": "{base_url}", "home": "{home}"})}
    result, _, log = work(tmp_path, {"argv": [sys.executable, str(script), *words], "env": env})
    assert result.status == "ok", (result.error, log)
    assert result.score_val_best == 1.0


def test_an_agent_that_asks_for_nothing_is_told_of_and_ended(tmp_path: Path) -> None:
    result, run_dir, log = work(tmp_path, {"argv": ["sleep", "600"], "silence": 2.0})
    assert result.status == "failed"
    assert "`sleep` has asked no model and evaluated nothing in its first 2 s, and was ended" in str(result.error)
    assert "in its first 1 s; it is ended after 2 s" in log
    events = (run_dir / "jobs" / result.job_id / "events.jsonl").read_text()
    assert any("1 s" in e.get("doing", "") for e in map(json.loads, events.splitlines()) if e["kind"] == "activity")
    assert result.time_seconds < 60


@pytest.mark.parametrize("view", one_in(2, ["plain", "json"]))
def test_a_silence_is_said_by_the_views_that_write_lines(tmp_path: Path, view: str) -> None:
    """It is said once, and before the job's end; what a job does else is not worth a line."""
    trainer = {"id": "Agent", "params": {"argv": ["sleep", "600"], "silence": 2.0}}
    config = {"tasks": ["internal:code_param"], "trainers": [trainer], "seeds": [7], "runs_dir": str(tmp_path)}
    told = io.StringIO()
    api.run(parse_config(config), reporter=view, stream=told)
    lines = told.getvalue().splitlines()
    words = "`sleep` has asked no model and evaluated nothing in its first 1 s; it is ended after 2 s"
    [place] = [number for number, line in enumerate(lines) if words in line]
    if view == "plain":
        assert lines[place] == f"internal:code_param x Agent seed=7: {words}"
        assert lines[place + 1].startswith("[1/1] failed")
        assert len(lines) == 4
    else:
        events = [json.loads(line) for line in lines]
        assert events[place] == {"schema_version": 1, "event": "notice", "job": events[1]["job"], "words": words}
        assert [event["event"] for event in events] == [
            "run_started",
            "job_started",
            "notice",
            "job_finished",
            "run_finished",
        ]


@HEAVY  # it sleeps
def test_a_silence_is_over_once_something_is_asked(tmp_path: Path) -> None:
    script = "sleep 8; ./evaluate; sleep 8; ./evaluate"
    result, run_dir, _ = work(tmp_path, {"argv": ["sh", "-c", script], "silence": 14.0})
    assert result.status == "ok", result.error
    events = (run_dir / "jobs" / result.job_id / "events.jsonl").read_text()
    told = [
        e["doing"] for e in map(json.loads, events.splitlines()) if e["kind"] == "activity" and "`sh`" in e["doing"]
    ]
    assert len(told) == 2
    assert "has evaluated nothing, for 7 s" in told[1]


def test_an_agent_that_nobody_offers_is_named_with_its_neighbour() -> None:
    with pytest.raises(UsageError, match=r"No plugin offers an agent `codx`.* Did you mean `codex`"):
        find_preset("codx")
    for settings in (AgentSettings, AutoresearchSettings):
        with pytest.raises(ValidationError, match=r"No plugin offers an agent `codx`.* Did you mean `codex`"):
            settings(agent="codx")
    with pytest.raises(ValidationError, match="name an `agent`"):
        AgentSettings()


def test_an_agent_that_is_not_installed_is_told_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    result, _, _ = work(tmp_path, {"agent": "codex"})
    assert result.status == "skipped"
    assert "The agent `codex` is not installed. trace-bench agents install codex" in result.stop_reason
    goose = find_preset("goose")
    with pytest.raises(MissingRequirementError, match="The agent `goose` is not installed"):
        find_agent(goose)


@pytest.mark.parametrize("spec", AGENTS, ids=lambda spec: spec.name)
def test_a_preset_names_bounds_a_program_and_where_its_model_is(spec: AgentSpec) -> None:
    packages = [*spec.requirements, *spec.packages]
    assert all("<" in package and ">=" in package for package in packages)
    assert packages or spec.by_hand
    told = json.dumps([spec.argv, spec.environ, spec.files])
    assert "{task}" in told
    assert "{model}" in told
    assert "{key}" in told
    assert "{base_url}" in told or "{host_url}" in told


def test_the_scripted_model_goes_on_from_where_a_conversation_is() -> None:
    tools = [{"function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}]
    coder, messages = Coder(), [{"role": "user", "content": "# The task"}]
    lines = []
    while not isinstance(answer := coder({"messages": messages, "tools": tools}), str):
        lines.append(answer.arguments["command"])
        messages = [*messages, {"role": "assistant", "tool_calls": [{}]}, {"role": "tool", "content": "done"}]
    assert [line == "./evaluate" for line in lines] == [True, False, True, False, True]


def test_an_agent_that_is_not_installed_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    config = {"tasks": ["internal:code_param"], "trainers": [{"id": "Agent", "params": {"agent": "aider"}}]}
    (tmp_path / "c.json").write_text(json.dumps(config))
    environ = os.environ | {VARIABLE: str(tmp_path / "agents")}
    done = trace_bench("plan", "c.json", folder=tmp_path, environ=environ)
    assert "trace-bench agents install aider" in done.stdout + done.stderr
    here = tmp_path / "agents/aider"
    (here / "bin").mkdir(parents=True)
    (here / "bin/aider").write_text("#!/bin/sh\n")
    (here / "bin/aider").chmod(0o755)
    (here / "trace-bench.json").write_text("{}")
    done = trace_bench("plan", "c.json", folder=tmp_path, environ=environ)
    assert "agents install" not in done.stdout + done.stderr
