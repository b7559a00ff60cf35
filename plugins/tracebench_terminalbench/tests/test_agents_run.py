"""Real coding agents solve tasks in images that have never heard of them: installed here, brought along, asking through the gateway.

They are installed as `trace-bench agents install` does it, into `$TRACEBENCH_AGENTS` where that is set.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from plugins.tracebench_terminalbench.tests.images import busybox, debian, needs_tools
from plugins.tracebench_terminalbench.tests.whole_runs import left, run_command
from plugins.tracebench_trainers_ext.tests.coder import Coder

from tracebench_terminalbench.found import Harbor
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(1500)]
LINE = "cp /etc/os-release /app/id"
MADE_BY_HAND = "ID=written"
CHECK = (
    f"grep -qE '^(ID=(tracebench-busybox|debian)|{MADE_BY_HAND})$' /app/id && "
    "echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt"
)


@pytest.fixture
def base(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the place of an image: of busybox alone, or of a release of Debian from `$TRACEBENCH_DEBIAN_ROOTS`."""
    needs_tools(tmp_path)
    return f"{busybox(tmp_path / 'image')}:1" if request.param == "busybox" else debian(tmp_path, request.param)


@pytest.mark.parametrize(
    ("agent", "base"),
    [
        ("preset:codex", "busybox"),
        ("preset:mini-swe-agent", "busybox"),
        ("preset:aider", "busybox"),
        ("codex", "busybox"),
        ("preset:claude-code", "bookworm"),
    ],
    indirect=["base"],
)
def test_an_agent_solves_a_task_of_an_image_that_has_never_heard_of_it_and_asks_through_the_gateway(
    *,
    harbor: Harbor,
    tmp_path: Path,
    write_task: Callable[..., Path],
    agent_installed: Callable[[str], None],
    agent: str,
    base: str,
) -> None:
    agent_installed(agent.removeprefix("preset:"))
    folder = write_task("names", CHECK, dockerfile="FROM base\nWORKDIR /app\n", agent_seconds=300.0)
    test = folder / "tests/test.sh"
    test.write_text(test.read_text().replace("#!/bin/bash", "#!/bin/sh"))
    settings = (folder / "task.toml").read_text().replace("build_timeout_sec = 120.0", "build_timeout_sec = 600.0")
    settings = settings.replace("timeout_sec = 3.0", "timeout_sec = 120.0").replace(
        "memory_mb = 512", "memory_mb = 4096"
    )
    (folder / "task.toml").write_text(settings)
    kwargs = {"images": {"base": base}, "network": "none", "store": str(tmp_path / "store")}
    eval_kwargs = {
        "agent": agent,
        "optimize": "extra_instructions",
        "harbor_env": "oci",
        "harbor_environment_kwargs": kwargs,
    }
    # of one that edits by its answers, the only tool is the edit
    stages = (f"{MADE_BY_HAND}\n",) if agent == "preset:aider" else ()
    actor = Coder(start="", stages=stages, file="id", measure=LINE, task="Do nothing")
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
