"""Harbor for the tests that need it: found as users' Harbor is, else they are skipped with the reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError, PluginError
from tracebench_core.plugins.agents import VARIABLE
from tracebench_engine.api.agents import install_agent, list_agents
from tracebench_engine.api.installed.hosting import open_host
from tracebench_terminalbench.catalog import TOYS
from tracebench_terminalbench.found import Harbor, find_harbor


@pytest.fixture(scope="session")
def harbor() -> Harbor:
    try:
        found = find_harbor()
    except MissingRequirementError as err:
        pytest.skip(f"{err} {err.hint}")
    side = Path(__file__).parents[1] / "src/tracebench_terminalbench/harbor_side/tracebench_harbor"
    code = "import namespaces; print(namespaces.why_impossible())"
    tried = subprocess.run(["python3", "-c", code], cwd=side, capture_output=True, text=True, check=True)
    if tried.stdout.strip():
        pytest.skip(f"the local sandbox cannot run here: {tried.stdout.strip()}")
    return found


@pytest.fixture
def write_task(tmp_path: Path) -> Callable[..., Path]:
    """Write a task in Harbor's format whose solution does nothing and whose tests are one line of shell."""

    def write(name: str, verifier: str, *, dockerfile: str = "WORKDIR /app\n", agent_seconds: float = 60.0) -> Path:
        folder = tmp_path / "tasks" / name
        for part, text in {
            "instruction.md": "Do nothing.\n",
            "environment/Dockerfile": dockerfile,
            "solution/solve.sh": "#!/bin/bash\ntrue\n",
            "tests/test.sh": f"#!/bin/bash\n{verifier}\n",
        }.items():
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            (folder / part).write_text(text)
            (folder / part).chmod(0o755)
        settings = (TOYS / "hello-file/task.toml").read_text().replace("tracebench/hello-file", f"tracebench/{name}")
        settings = settings.replace("timeout_sec = 60.0", f"timeout_sec = {agent_seconds}")
        (folder / "task.toml").write_text(settings.replace("timeout_sec = 30.0", "timeout_sec = 3.0"))
        return folder

    return write


@pytest.fixture(scope="session")
def agent_installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], None]]:
    """Return what installs a coding agent that is not there yet, into `$TRACEBENCH_AGENTS` where that is set."""
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
