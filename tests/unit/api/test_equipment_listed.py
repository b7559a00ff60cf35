"""`agents list` and `pythons list`: what plugins offer, which of it is here, and which is not as it is offered now."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tracebench_core.errors import UsageError
from tracebench_core.plugins.interpreters import READY
from tracebench_engine.cli.app import app

Cli = Callable[..., Result]
PLUGIN = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import AgentSpec, PythonSpec

def agent(name, **more): return AgentSpec(name=name, title=f"The {name}", program=name, wire="chat", argv=("x",), **more)

@hookimpl
def tracebench_register(registry):
    registry.add(
        agent("dug", packages=("dug-a@1", "dug-b@2")), agent("old", requirements=("old-x==2",)), agent("hand", by_hand="See there."),
        agent("away", requirements=("away-x==1",)), PythonSpec(name="ours", title="Ours", requirements=("a==1",), python=">=3.11"),
        PythonSpec(name="unbuilt", title="Unbuilt", requirements=(), python=">=3.11"),
    )
"""


def installed(folder: Path, name: str, packages: list[str], version: str = "1.2") -> None:
    program = folder / name / "bin" / name
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / name / READY).write_text(json.dumps({"version": version, "packages": packages, "requirements": packages}))


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    info = tmp_path / "site/equipped-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "site/equipped.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: equipped\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\nequipped = equipped\n")
    (tmp_path / "path").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name, value in {
        "TRACEBENCH_PLUGINS": "equipped", "TRACEBENCH_AGENTS": str(tmp_path / "agents"), "COLUMNS": "200",
        "TRACEBENCH_PYTHONS": str(tmp_path / "pythons"), "PATH": str(tmp_path / "path"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    installed(tmp_path / "agents", "dug", ["dug-a@1", "dug-b@2"])
    installed(tmp_path / "agents", "old", ["old-x==1"])
    yield lambda line, *words: CliRunner().invoke(app, [*line.split(), *words])
    sys.modules.pop("equipped", None)


def test_agents_are_listed_with_what_they_are_and_whether_they_are_here(cli: Cli) -> None:
    assert cli("agents list").stdout.splitlines() == [
        "name\tstate\tversion\tasks by\tfrom\twhat it is", "away\tnot here\t\tchat\taway-x==1\tThe away",
        "dug\tready\t1.2\tchat\tdug-a@1, dug-b@2\tThe dug", "hand\tnot here\t\tchat\tSee there.\tThe hand",
        "old\tstale\t1.2\tchat\told-x==2\tThe old",
    ]  # fmt: skip
    told = json.loads(cli("agents list --json").stdout)
    assert {agent["name"]: (bool(agent["path"]), agent["stale"]) for agent in told["agents"]} == {
        "away": (False, False), "dug": (True, False), "hand": (False, False), "old": (True, True),
    }  # fmt: skip


def test_an_agent_is_removed_once(cli: Cli, tmp_path: Path) -> None:
    done = cli("agents remove dug")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "`dug` is gone.\n")
    assert not (tmp_path / "agents/dug").exists()
    again = cli("agents remove dug")
    assert isinstance(again.exception, UsageError)
    assert again.exception.hint == "trace-bench agents list"


@pytest.mark.parametrize("line", ["agents install nobody", "pythons create nobody", "pythons remove nobody"])
def test_what_nobody_offers_is_told_with_the_list(cli: Cli, line: str) -> None:
    done = cli(line)
    assert isinstance(done.exception, UsageError)
    assert "`nobody`" in str(done.exception)
    assert done.exception.hint == f"trace-bench {line.split(maxsplit=1)[0]} list"


def test_interpreters_are_listed_with_whether_they_are_built(cli: Cli) -> None:
    assert cli("pythons list").stdout.splitlines() == [
        "name\tstate\tpath\tfor", "ours\tnot built\t\tOurs", "unbuilt\tnot built\t\tUnbuilt",
    ]  # fmt: skip
    told = json.loads(cli("pythons list --json").stdout)
    assert [(python["name"], python["ready"]) for python in told["pythons"]] == [("ours", False), ("unbuilt", False)]


def test_an_interpreter_that_is_built_is_shown_with_its_path_and_whether_it_is_of_today(
    cli: Cli, tmp_path: Path
) -> None:
    pythons = tmp_path / "pythons"
    for name, requirements in {"ours": ["a==1"], "unbuilt": ["b==1"], "left": []}.items():
        installed(pythons, name, requirements)
        (pythons / name / "bin" / name).rename(pythons / name / "bin/python")
    assert cli("pythons list").stdout.splitlines()[1:] == [
        f"ours\tready\t{pythons}/ours/bin/python\tOurs", f"unbuilt\tstale\t{pythons}/unbuilt/bin/python\tUnbuilt",
        f"left\tready\t{pythons}/left/bin/python\toffered by no plugin",
    ]  # fmt: skip
    assert cli("pythons remove left").stderr == "`left` is gone.\n"
    assert not (pythons / "left").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../agents", "dug/bin", "dug/."])
@pytest.mark.parametrize("what", ["agents", "pythons"])
def test_nothing_but_what_has_a_name_of_its_own_is_removed(cli: Cli, tmp_path: Path, what: str, name: str) -> None:
    """The folder itself and the one around it are directories, too."""
    installed(tmp_path / "pythons", "dug", [])
    before = sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts)
    done = cli(f"{what} remove", name)
    assert isinstance(done.exception, UsageError)
    assert done.exception.hint == f"trace-bench {what} list"
    assert sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts) == before
