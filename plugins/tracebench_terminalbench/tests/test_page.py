"""The page of terminal tasks, followed from its first image to its agent: its own commands and files, with a scripted model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.tracebench_terminalbench.tests.images import needs_tools
from plugins.tracebench_trainers_ext.tests.coder import Coder

from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.job_config import STORE
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(1500)]
PAGE = Path(__file__).parents[3] / "docs/how-to/terminal-tasks.md"
SOLVES = ". /etc/os-release; echo $VERSION_CODENAME > /app/name"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_page_leads_to_a_sound_task_and_an_agent_that_solves_it(
    harbor: Harbor, tmp_path: Path, agent_installed: Callable[[str], None]
) -> None:
    needs_tools(tmp_path)
    packed = Path(os.environ.get("TRACEBENCH_DEBIAN_ROOTS", "/nonexistent"), "bookworm.tar")
    if not packed.is_file():
        pytest.skip("no bookworm.tar in $TRACEBENCH_DEBIAN_ROOTS: mmdebstrap --variant=minbase bookworm bookworm.tar")
    agent_installed("codex")
    (tmp_path / "bookworm.tar").symlink_to(packed)
    for name, text in zip(("sound.yaml", "agent.yaml"), blocks("yaml"), strict=True):
        assert f"`{name}`" in PAGE.read_text()
        (tmp_path / name).write_text(text)
    environ = {**os.environ, STORE: str(tmp_path / "store"), "OPENAI_API_KEY": "of-a-scripted-model"}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    _, image, task, sound, agent = blocks("sh")
    with FakeOpenAI(act=Coder(start="", stages=(), measure=SOLVES, task="Write the code name")) as server:
        scripted = f"{agent.strip()} -o llm.base_url={server.base_url}\n"
        for script in (re.sub("^mmdebstrap.*\n", "", image), task, sound, scripted):
            done = subprocess.run(
                ["bash", "-euc", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
            assert "[SKIP]" not in done.stdout
        asked = len(server.log.served)

    (result,) = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/jobs/*/results.json")]
    assert result["score_val_initial"] == 1.0, result
    assert asked >= 2
