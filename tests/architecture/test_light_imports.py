"""What starts quickly imports little: told by `sys.modules` of a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.whole import one_in

HEAVY = {
    "litellm",
    "numpy",
    "opto",
    "streamlit",
    "torch",
    "datasets",
    "starlette",
    "uvicorn",
    "httpx",
    "pandas",
    "scipy",
}
WATCH = """
import json, sys
{code}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})), file=sys.stderr)
"""
CLI = "sys.argv = ['trace-bench', *{arguments!r}]\nfrom tracebench_engine.cli.app import main\ntry: main()\nexcept SystemExit: pass"


def imported_by(code: str, *, folder: Path | None = None, **variables: str) -> set[str]:
    command, environ = [sys.executable, "-c", WATCH.format(code=code)], {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ, cwd=folder)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "package", ["tracebench_core", "tracebench_engine.config", "tracebench_core.plugins", "tracebench_runs"]
)
def test_a_package_is_light(package: str) -> None:
    assert not HEAVY & imported_by(f"import {package}")


def test_the_package_itself_imports_nothing_but_the_standard_library() -> None:
    assert not {"pydantic", "yaml", "typer", "rich", "pluggy"} & imported_by("import tracebench_core")


def test_help_imports_no_model_and_no_plugin_machinery() -> None:
    imported = imported_by(CLI.format(arguments=["--help"]))

    assert "typer" in imported
    assert not (HEAVY | {"pydantic", "yaml", "rich", "pluggy", "packaging"}) & imported


@pytest.mark.parametrize("command", one_in(2, ["list-tasks", "list-trainers", "list-suites", "plugins"]))
def test_listing_imports_nothing_heavy(command: str, tmp_path: Path) -> None:
    imported = imported_by(CLI.format(arguments=[command]), XDG_CACHE_HOME=str(tmp_path))

    assert "pluggy" in imported
    assert not (HEAVY | {"packaging", "rich", "yaml"}) & imported


def test_a_listing_that_was_kept_imports_no_models_and_no_plugin_machinery(tmp_path: Path) -> None:
    code, until = CLI.format(arguments=["list-tasks"]), time.monotonic() + 60
    (folder := tmp_path / "here").mkdir()
    (cache := tmp_path / "cache").mkdir()
    while not list(cache.rglob("catalogue-*.json")):  # what was installed just now has to settle
        assert time.monotonic() < until, "nothing was kept"
        imported_by(code, folder=folder, XDG_CACHE_HOME=str(cache))

    imported = imported_by(code, folder=folder, XDG_CACHE_HOME=str(cache))

    assert "typer" in imported
    assert not (HEAVY | {"pydantic", "yaml", "rich", "pluggy", "packaging"}) & imported
