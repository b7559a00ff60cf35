"""Import paths that plugins were told to use before the bench was several distributions go on working."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.whole import one_in

import tracebench_core

OLD_FACE = (
    "api", "api.records", "api.analysis", "api.programs", "api.executors", "api.sandboxes", "api.codec", "api.console",
    "api.console.options", "api.interpreters", "testing", "testing.fake_openai", "testing.toys", "sandbox", "sandbox.client", "cli.app",
)  # fmt: skip


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)


IN_FORKS = """
import json, os, sys
from importlib import import_module
import concurrent.futures, csv, email, http.server, importlib.metadata, inspect, mmap, statistics, webbrowser, zipfile, zoneinfo
import numpy, pluggy, pydantic, typer, uvicorn, yaml  # others' modules, which every fork would import
from pydantic import main, type_adapter

for order in json.loads(sys.argv[1]):
    reader, writer = os.pipe()
    if os.fork() == 0:
        first, second = map(import_module, order)
        os.write(writer, f"{first is second} {first.__name__} {second.__spec__.name}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        print(told.read(), flush=True)
    os.wait()
"""
"""Imports each pair of paths in a process that has imported nothing of ours."""


def homes(name: str) -> tuple[str, str]:
    """Return the old path of a module and the new one."""
    first, _, rest = name.partition(".")
    home = {"testing": "tracebench_testing", "sandbox": "tracebench_sandbox"}.get(first, f"tracebench_engine.{first}")
    return f"tracebench_core.{name}", f"{home}.{rest}".rstrip(".")


@cache
def imported(names: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    """What came of importing both paths of every module, in either order."""
    orders = [order for name in names for order in (homes(name), homes(name)[::-1])]
    asked = [sys.executable, "-c", IN_FORKS, json.dumps(orders)]
    told = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False)
    return dict(zip(orders, told.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", one_in(3, OLD_FACE))
def test_an_old_path_is_the_very_module(name: str) -> None:
    old, new = homes(name)
    came = imported(OLD_FACE[OLD_FACE.index(name) % 3 :: 3])
    assert came[old, new] == came[new, old] == f"True {new} {new}"


def test_names_come_from_old_modules_as_they_came() -> None:
    done = run(
        "from tracebench_core import evaluate_task, hookimpl, load_config\n"
        "from tracebench_core.api.records import load_run\nfrom tracebench_core import api, testing\n"
        "import tracebench_core.api.console.output as o\n"
        "import tracebench_engine.api.console.output as n, tracebench_runs.reading.reader\n"
        "assert o is n and load_run is tracebench_runs.reading.reader.load_run and api.evaluate_task is evaluate_task and testing.Teacher"
    )
    assert done.returncode == 0, done.stderr


def test_a_module_that_never_was_is_missing_under_its_own_name() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tracebench_core\.api\.nothing"):
        import_module("tracebench_core.api.nothing")


def test_an_old_program_is_run_by_its_old_name() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_core.cli", "--version"], capture_output=True, text=True, check=False
    )
    assert re.fullmatch(r"trace-bench [\d.]+\n", done.stdout), done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_core.testing.fake_openai", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--port" in done.stdout, done.stderr


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    places = [str(Path(place).parent) for place in tracebench_core.__path__]
    code = f"import sys; sys.path[:0] = {places}\nimport tracebench_core\nfrom tracebench_core import testing"
    done = subprocess.run([tmp_path / "venv/bin/python", "-c", code], capture_output=True, text=True, check=False)
    assert "pip install tracebench-testing" in done.stderr
