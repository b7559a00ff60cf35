"""Real coding agents solve tasks in images that have never heard of them: installed here, brought along, asking through the gateway.

They are installed as `trace-bench agents install` does it, into `$TRACEBENCH_AGENTS` where that is set.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from plugins.tracebench_terminalbench.tests.images import busybox, needs_tools
from plugins.tracebench_terminalbench.tests.whole_runs import left, run_command
from plugins.tracebench_trainers_ext.tests.coder import Coder

from tracebench_core.errors import MissingRequirementError, PluginError
from tracebench_core.plugins.agents import VARIABLE
from tracebench_engine.api.agents import install_agent, list_agents
from tracebench_engine.api.installed.hosting import open_host
from tracebench_terminalbench.found import Harbor
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(1500)]
LINE = "cp /etc/os-release /app/id"
CHECK = "grep -q tracebench-busybox /app/id && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], None]]:
    """Return what installs an agent that is not there yet."""
    kept = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = kept or str(tmp_path_factory.mktemp("agents"))

    def install(name: str) -> None:
        host = open_host()
        if not next(agent for agent in list_agents(host) if agent.name == name).path:
            try:
                install_agent(name, host)
            except (MissingRequirementError, PluginError) as err:  # no Node, or no network
                pytest.skip(str(err))

    yield install
    if kept is None:
        del os.environ[VARIABLE]


@pytest.mark.parametrize("agent", ["preset:codex", "preset:mini-swe-agent", "codex"])
def test_an_agent_solves_a_task_of_an_image_without_libc_and_asks_through_the_gateway(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path], installed: Callable[[str], None], agent: str
) -> None:
    needs_tools(tmp_path)
    installed(agent.removeprefix("preset:"))
    folder = write_task("names", CHECK, dockerfile="FROM base\nWORKDIR /app\n", agent_seconds=300.0)
    test = folder / "tests/test.sh"
    test.write_text(test.read_text().replace("#!/bin/bash", "#!/bin/sh"))
    settings = (folder / "task.toml").read_text().replace("build_timeout_sec = 120.0", "build_timeout_sec = 600.0")
    settings = settings.replace("timeout_sec = 3.0", "timeout_sec = 120.0").replace(
        "memory_mb = 512", "memory_mb = 4096"
    )
    (folder / "task.toml").write_text(settings)
    layout = busybox(tmp_path / "image")
    kwargs = {"images": {"base": f"{layout}:1"}, "network": "none", "store": str(tmp_path / "store")}
    eval_kwargs = {
        "agent": agent,
        "optimize": "extra_instructions",
        "harbor_env": "oci",
        "harbor_environment_kwargs": kwargs,
    }
    actor = Coder(start="", stages=(), measure=LINE, task="Do nothing")
    prices = {"scripted": {"prompt": 1.0, "completion": 2.0}}
    with FakeOpenAI(act=actor) as server:
        config: dict[str, Any] = {
            "mode": "real", "seeds": [1], "job_timeout": 900, "evaluation_retries": 0,
            "llm": {"provider": "openai", "model": "scripted", "base_url": server.base_url, "prices": prices},
            "tasks": [{"id": "terminal_bench:names", "eval_kwargs": eval_kwargs}], "trainers": ["NoOp"],
        }  # fmt: skip
        command = [*run_command(tmp_path, yaml.safe_dump(config)), "--root", str(tmp_path / "tasks")]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        asked = len(server.log.served)

    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/jobs/*/results.json")]
    assert result["score_val_initial"] == 1.0, (result["error"], done.stderr)
    assert asked >= 2
    assert result["used"]["llm_calls"] >= 1
    assert left(tmp_path) == []
