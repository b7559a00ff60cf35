"""Coding agents are installed to their end or not at all, found by their name, and removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.warm import trace_bench

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.agents import VARIABLE, agent_version, agents_folder, find_agent
from tracebench_core.registry import Registry
from tracebench_core.specs import AgentSpec
from tracebench_engine.checks.agents import install_agent, list_agents, remove_agent

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "agents"))
    return tmp_path / "agents"


def offered(*specs: AgentSpec) -> PluginHost:
    """Return a host of one plugin that offers these."""

    class Plugin:
        __name__ = "agents_of_a_test"

    from tracebench_core.hookspecs import hookimpl

    plugin = Plugin()

    @hookimpl
    def tracebench_register(registry: Registry) -> None:
        registry.add(*specs)

    plugin.tracebench_register = tracebench_register  # type: ignore[attr-defined]
    host = PluginHost({})
    host.register(plugin, "test")  # type: ignore[arg-type]
    return host


def package(folder: Path, version: str = "1.2.3") -> str:
    """Write an npm package with one program, and return what installs it."""
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text(
        json.dumps({"name": "tiny-agent", "version": version, "bin": {"tiny": "tiny.js"}})
    )
    (folder / "tiny.js").write_text("#!/usr/bin/env node\nconsole.log('tiny works')\n")
    return f"tiny-agent@file:{folder}"


def spec(*packages: str, name: str = "tiny", program: str = "tiny", node: str = ">=18") -> AgentSpec:
    return AgentSpec(name=name, packages=packages, program=program, node=node, wire="chat", argv=("{task}",))


@needs_npm
def test_an_agent_from_npm_is_installed_found_shown_as_stale_and_removed(tmp_path: Path, home: Path) -> None:
    tiny = spec(package(tmp_path / "tiny"))
    with pytest.raises(MissingRequirementError, match="`tiny` is not installed"):
        find_agent(tiny)
    found = install_agent("tiny", offered(tiny))
    assert (found.version, found.stale, found.path) == ("1.2.3", False, str(home / "tiny/bin/tiny"))
    assert subprocess.run([find_agent(tiny)], capture_output=True, text=True, check=True).stdout == "tiny works\n"
    assert agent_version(tiny) == "1.2.3"
    [listed] = list_agents(offered(spec(f"{tiny.packages[0]}-other")))
    assert (listed.stale, listed.version) == (True, "1.2.3")
    remove_agent("tiny")
    assert list_agents(offered(tiny))[0].path == ""
    with pytest.raises(UsageError, match="no agent `tiny`"):
        remove_agent("tiny")


@needs_npm
def test_nothing_is_left_of_an_installation_that_fails(tmp_path: Path, home: Path) -> None:
    tiny = package(tmp_path / "tiny")
    with pytest.raises(PluginError, match="`tiny` cannot be built"):
        install_agent("tiny", offered(spec(f"tiny-agent@file:{tmp_path / 'nothing.tgz'}")))
    with pytest.raises(PluginError, match="brought no program `other`"):
        install_agent("tiny", offered(spec(tiny, program="other")))
    with pytest.raises(MissingRequirementError, match="needs Node >=9000"):
        install_agent("tiny", offered(spec(tiny, node=">=9000")))
    assert [path.name for path in home.iterdir() if not path.name.startswith(".")] == []


def test_one_that_neither_pypi_nor_npm_has_is_taken_from_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand = AgentSpec(name="own", by_hand="Build it.", program="own-agent", wire="chat", argv=("{task}",))
    with pytest.raises(UsageError, match=r"neither on PyPI nor on npm. Build it"):
        install_agent("own", offered(by_hand))
    with pytest.raises(MissingRequirementError, match=r"no `own-agent` on PATH. Build it"):
        find_agent(by_hand)
    (tmp_path / "own-agent").write_text("#!/bin/sh\n")
    (tmp_path / "own-agent").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert find_agent(by_hand) == tmp_path / "own-agent"
    with pytest.raises(UsageError, match=r"No plugin offers an agent `onw`\. Did you mean `own`"):
        install_agent("onw", offered(by_hand))


def test_agents_lie_in_the_users_data_folder_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert agents_folder() == tmp_path / "trace-bench/agents"


def test_the_command_lists_what_plugins_offer(tmp_path: Path) -> None:
    done = trace_bench("agents", "list", "--json", folder=tmp_path, environ=os.environ)
    listed = {agent["name"]: agent for agent in json.loads(done.stdout)["agents"]}
    assert {"claude-code", "codex", "opencode", "mini-swe-agent", "aider", "gemini-cli", "qwen-code", "openhands"} <= {
        *listed
    }
    assert not any(agent["version"] for agent in listed.values())
