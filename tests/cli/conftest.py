"""The command: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from tests.warm import trace_bench

COMMAND = Path(sys.executable).with_name("trace-bench")

Cli = Callable[..., subprocess.CompletedProcess[str]]


def command_in(folder: Path) -> Cli:
    """Return a function that runs `trace-bench` with arguments in a folder; keyword `env` adds variables."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        quiet = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith("TRACEBENCH_")}
        return trace_bench(*arguments, folder=folder, environ=quiet | {"COLUMNS": "100"} | dict(env or {}))

    return run


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run `trace-bench` with arguments in `tmp_path`."""
    return command_in(tmp_path)


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the `CONFIG` of the test's module was run, once for all its tests. Leave it as it is."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "c.yaml").write_text(request.module.CONFIG)
    done = command_in(folder)("run", "--config", "c.yaml", "--max-workers", "2", env={"TRACEBENCH_PLUGINS": ""})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder, in which `cli` works."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def installed_in(folder: Path, module: str, source: str, *, group: str, entry: str, target: str) -> Mapping[str, str]:
    """Install a distribution of one module below a folder; return the variables that bring it in."""
    site = folder / "site"
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry} = {target}\n")
    (site / f"{module}.py").write_text(source)
    return brought_from(folder)


def brought_from(folder: Path) -> Mapping[str, str]:
    """Return the variables that bring in what is installed below a folder."""
    return {"PYTHONPATH": os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.fixture
def plugin_path(tmp_path: Path) -> Callable[..., Mapping[str, str]]:
    """Install a distribution of one module into a folder of its own; returns the variables that bring it in."""
    return partial(installed_in, tmp_path)
