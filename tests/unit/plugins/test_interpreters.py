"""Where an interpreter of a library's own is: by its path or its name, and what is no interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_core.errors import MissingRequirementError
from tracebench_core.plugins.agents import agent_version, find_agent
from tracebench_core.plugins.interpreters import READY, data_folder, find_python, has_python
from tracebench_core.specs import AgentSpec


def executable(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a run was started, and the user's home."""
    monkeypatch.setenv("TRACEBENCH_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for name in ("TRACEBENCH_PYTHONS", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_path_is_of_the_users_home_of_the_runs_folder_or_of_the_root(home: Path) -> None:
    for place in (home / "venv/bin/python", home / "user/venv/bin/python"):
        executable(place)
    assert find_python("venv/bin/python") == str(home / "venv/bin/python")
    assert find_python("~/venv/bin/python") == str(home / "user/venv/bin/python")
    assert find_python(str(home / "venv/bin/python")) == str(home / "venv/bin/python")


def test_what_is_no_program_is_no_interpreter(home: Path) -> None:
    executable(home / "venv/python", 0o644)
    for written in ("venv/python", "venv/", "venv/missing"):
        with pytest.raises(MissingRequirementError) as caught:
            find_python(written)
        assert str(caught.value) == f"There is no interpreter at `{home / written}`."
        assert caught.value.hint == "trace-bench pythons list"


def test_a_name_is_ready_once_all_of_it_is_there(home: Path) -> None:
    folder = home / "user/.local/share/trace-bench/pythons/old"
    steps = [lambda: executable(folder / "bin/python"), lambda: (folder / READY).write_text("{}")]
    for step in steps:
        assert not has_python("old")
        with pytest.raises(MissingRequirementError, match=r"^The interpreter `old` is not prepared\.$") as caught:
            find_python("old")
        assert caught.value.hint == "trace-bench pythons create old"
        step()
    assert find_python("old") == str(folder / "bin/python")
    (folder / "bin/python").chmod(0o644)
    assert not has_python("old")


def test_a_folder_is_the_variables_else_of_the_users_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder("OURS", "x") == home / "user/.local/share/trace-bench/x"
    monkeypatch.setenv("XDG_DATA_HOME", "~/data")
    assert data_folder("OURS", "x") == home / "user/data/trace-bench/x"
    monkeypatch.setenv("OURS", "~/mine")
    assert data_folder("OURS", "x") == home / "user/mine"
    monkeypatch.setenv("OURS", "")
    assert data_folder("OURS", "x") == home / "user/data/trace-bench/x"


@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "ITS OWN"])
@pytest.mark.parametrize("folder", ["/" + "x" * 300, "~nobody-is-called-so/x", "a\0b"])
def test_nothing_is_in_a_folder_that_there_cannot_be(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, folder: str
) -> None:
    agent = AgentSpec(name="a", title="A", wire="chat", program="a", requirements=("a",), argv=("a",))
    given = folder.replace("\0", "")
    for own in ("TRACEBENCH_PYTHONS", "TRACEBENCH_AGENTS"):
        monkeypatch.delenv(own, raising=False)
        monkeypatch.setenv(own if variable == "ITS OWN" else variable, given)
    assert not has_python("old")
    with pytest.raises(MissingRequirementError, match=r"^The interpreter `old` is not prepared\.$"):
        find_python("old")
    with pytest.raises(MissingRequirementError, match=r"^There is no interpreter at "):
        find_python(f"{folder}/python")
    with pytest.raises(MissingRequirementError, match=r"^The agent `a` is not installed\.$"):
        find_agent(agent)
    assert not agent_version(agent)
