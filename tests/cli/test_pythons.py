"""Named interpreters: offered by plugins, built to their end or not at all, found by their name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm import trace_bench
from tests.whole import HEAVY

from tracebench_core.errors import MissingRequirementError, PluginError, UsageError
from tracebench_core.plugins import PluginHost, unmet_requirement
from tracebench_core.plugins.interpreters import find_python
from tracebench_core.specs import PythonSpec, Requirement
from tracebench_engine.checks.pythons import create_python, installed_python, list_pythons, remove_python


class Offers:
    """A host that offers two interpreters: one that needs nothing, one that nobody can build."""

    def catalog(self) -> Offers:
        return self

    @property
    def components(self) -> dict[str, dict[str, PythonSpec]]:
        version = f"=={sys.version_info[0]}.{sys.version_info[1]}.*"
        return {
            "python": {
                "plain": PythonSpec(name="plain", title="nothing", requirements=(), python=version),
                "never": PythonSpec(
                    name="never", title="no", requirements=("tracebench-core==0.0.0.dev0",), python=version
                ),
            }
        }


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    monkeypatch.setenv("TRACEBENCH_PYTHONS", str(tmp_path / "pythons"))
    return Offers()  # type: ignore[return-value]  # the two members that are asked


@HEAVY
def test_a_named_interpreter_is_listed_built_found_and_removed(host: PluginHost) -> None:
    assert [(p.name, p.ready) for p in list_pythons(host)] == [("plain", False), ("never", False)]
    built = create_python("plain", host)
    assert built.ready
    assert find_python("plain") == built.path
    said = subprocess.run(
        [built.path, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip().endswith("pythons/plain")
    needed = Requirement(kind="module", name="no_such_module", hint="-", python="plain", unless="python")
    assert unmet_requirement([needed]) is None
    remove_python("plain")
    assert unmet_requirement([needed]) == needed
    assert unmet_requirement([needed], {"python": "/anywhere"}) is None
    with pytest.raises(MissingRequirementError, match="not prepared"):
        find_python("plain")


@HEAVY
def test_nothing_is_left_of_a_build_that_fails(host: PluginHost, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="cannot be built"):
        create_python("never", host)
    assert [p.name for p in (tmp_path / "pythons").iterdir() if p.is_dir()] == []


@pytest.mark.parametrize("name", ["plane", "../pythons", ""])
def test_a_name_that_nobody_offers_is_refused(host: PluginHost, name: str) -> None:
    with pytest.raises(UsageError):
        create_python(name, host)
    with pytest.raises(UsageError):
        remove_python(name)


def test_a_path_is_an_interpreter_too(host: PluginHost) -> None:
    assert find_python(sys.executable) == sys.executable
    with pytest.raises(MissingRequirementError, match="no interpreter"):
        find_python("/not/there/python")


def test_the_command_lists_what_plugins_offer(tmp_path: Path) -> None:
    environ = os.environ | {"TRACEBENCH_PYTHONS": str(tmp_path)}
    done = trace_bench("pythons", "list", "--json", folder=tmp_path, environ=environ)
    assert all(not p["ready"] for p in json.loads(done.stdout)["pythons"])


def test_a_python_is_found_by_what_it_says_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(folder: str, name: str, body: str) -> str:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    put("path", "python3.77", "echo 'pyenv: python3.77: command not found' >&2; exit 127")  # a shim of nothing
    put("path", "python3.78", "echo 3.11.2")  # its name promises what it is not
    put("path", "python3-config", "echo 3.77.1")
    kept = put("pyenv/versions/3.77.4/bin", "python3.77", "echo 3.77.4")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    assert installed_python("==3.77.*") == kept
    assert installed_python(">=3.99") is None
    assert installed_python(f"=={sys.version_info[0]}.{sys.version_info[1]}.*") == sys.executable
