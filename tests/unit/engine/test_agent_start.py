"""How a coding agent is started in a job: its command and files with the job's words in them, and what it needs of the host."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from tracebench_core.errors import MissingRequirementError, ModelError
from tracebench_core.plugins.agents import agent_version, agents_folder, find_agent
from tracebench_core.specs import AgentSpec
from tracebench_engine.door.agents import known_words, needs_of, spoken, start_of

WORDS = {
    "argv": ("--model", "{model}", "{task}", "{files}", "{other}", "{workdir}/a"),
    "environ": {"KEY": "{key}", "HOST": "{host_url}", "BASE": "{base_url}"},
    "files": {".config/a.json": "{home} {model} {unknown}"},
}


def spec(**more: Any) -> AgentSpec:
    return AgentSpec(**({"name": "digger", "program": "dig", "wire": "chat"} | WORDS | more))


def problem(address: str | None) -> Any:
    """A job's problem as far as an agent asks it: the optimizer's model, or that it has none."""

    def endpoint(role: str) -> Any:
        assert role == "optimizer"
        if address is None:
            raise ModelError("no model", kind="refused")
        return SimpleNamespace(model="m-1", api_key=SecretStr("sk-job"), base_url=address)

    return SimpleNamespace(endpoint=endpoint)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of installed agents, and an empty one on `PATH`."""
    monkeypatch.setenv("TRACEBENCH_AGENTS", str(tmp_path / "agents"))
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path / "agents"


def install(agents: Path, *, ready: str | None = '{"version": "1.2"}', mode: int = 0o755) -> Path:
    program = agents / "digger/bin/dig"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(mode)
    if ready is not None:
        (agents / "digger/trace-bench.json").write_text(ready)
    return program


def test_an_agent_is_started_with_the_words_of_its_job(agents: Path, tmp_path: Path) -> None:
    program = tmp_path / "path/dig"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    home, workdir = tmp_path / "home", tmp_path / "work"
    start = start_of(spec(), problem("http://h:1/v1"), workdir=workdir, home=home)
    assert start.name == "digger"
    assert start.argv == (str(program), "--model", "m-1", "{task}", "{files}", "{other}", f"{workdir}/a")
    assert start.environ == {"KEY": "sk-job", "HOST": "http://h:1", "BASE": "http://h:1/v1"}
    assert (home / ".config/a.json").read_text() == f"{home} m-1 {{unknown}}"
    assert start.shown == (program,)
    again = start_of(spec(), problem(None), workdir=workdir, home=home)
    assert again.environ == {"KEY": "{key}", "HOST": "{host_url}", "BASE": "{base_url}"}


def test_without_a_model_only_the_folders_are_known() -> None:
    places = {"workdir": Path("/w"), "home": Path("/h")}
    assert known_words(problem(None), **places) == {"{workdir}": "/w", "{home}": "/h"}
    assert known_words(problem("http://h:1/v1/x"), **places) == {
        "{workdir}": "/w", "{home}": "/h", "{model}": "m-1", "{key}": "sk-job", "{base_url}": "http://h:1/v1/x",
        "{host_url}": "http://h:1/v1/x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["a", "{task}"], ["a", "do it"]),
        (["{files}", "-x"], ["b.py", "c d.py", "-x"]),
        (["-f={files}", "{task}: {files}"], ["-f=b.py c d.py", "do it: b.py c d.py"]),
        ([], []),
    ],
)
def test_the_files_are_an_argument_each_where_they_stand_alone(argv: list[str], said: list[str]) -> None:
    assert spoken(argv, task="do it", files=iter(["b.py", "c d.py"])) == said


def test_what_a_task_says_in_braces_is_the_tasks_own_words(agents: Path, tmp_path: Path) -> None:
    task, file = "Fill in {files}, {task} and {model}.", "{task}.py"
    assert spoken(["{task}", "{files}", "{files}: {task}"], task=task, files=[file]) == [task, file, f"{file}: {task}"]
    install(agents)
    workdir = tmp_path / "{model}/{home}"
    start = start_of(spec(requirements=("digger",)), problem("http://h/v1"), workdir=workdir, home=tmp_path)
    assert start.argv[-1] == f"{workdir}/a"


def test_an_agent_of_an_installation_is_named_with_its_version_and_shown_with_what_runs_it(
    agents: Path, tmp_path: Path
) -> None:
    program = install(agents)
    python = program.with_name("python")
    python.symlink_to(sys.executable)
    (agents / "digger/pyvenv.cfg").write_text("")
    installed = spec(requirements=("digger",))
    start = start_of(installed, problem(None), workdir=tmp_path, home=tmp_path / "home")
    assert (start.name, start.argv[0]) == ("digger 1.2", str(program))
    assert start.shown[:3] == (program, agents / "digger", python)
    assert Path(sys.executable) in start.shown
    assert len({*start.shown}) == len(start.shown)

    assert [*needs_of(spec(packages=("digger",)), program)] == [program, agents / "digger"]  # there is no Node
    node = tmp_path / "path/node"
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    assert [*needs_of(spec(packages=("digger",)), program)] == [program, agents / "digger", node]
    assert [*needs_of(spec(), program)] == [program, agents / "digger"]


@pytest.mark.parametrize("state", ["nothing", "no mark", "no program"])
def test_an_agent_that_is_not_whole_is_to_be_installed(agents: Path, state: str) -> None:
    if state != "nothing":
        install(agents, ready=None if state == "no mark" else "{}", mode=0o755 if state == "no mark" else 0o600)
    if state == "no program":
        (agents / "digger/bin/dig").unlink()
    with pytest.raises(MissingRequirementError, match=r"^The agent `digger` is not installed\.$") as caught:
        find_agent(spec(packages=("digger",)))
    assert caught.value.hint == "trace-bench agents install digger"


def test_an_agent_that_nothing_installs_is_on_the_path_or_told_how_to_come_by(agents: Path) -> None:
    with pytest.raises(MissingRequirementError) as caught:
        find_agent(spec(by_hand="See there."))
    assert str(caught.value) == "The agent `digger` is not here: there is no `dig` on PATH. See there."
    assert caught.value.hint == "trace-bench agents list"


@pytest.mark.parametrize(
    ("ready", "version"),
    [(None, ""), ("{", ""), ("[]", ""), ("{}", ""), ('{"version": 3}', ""), ('{"version": "3"}', "3")],
)
def test_a_version_that_is_not_known_is_none(agents: Path, ready: str | None, version: str) -> None:
    install(agents, ready=ready)
    assert agents_folder() == agents
    assert agent_version(spec()) == version
