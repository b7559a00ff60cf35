"""What starts quickly imports little: told by `sys.modules` of a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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
CLI = "sys.argv = ['trace-bench', *{arguments!r}]\nfrom tracebench_core.cli.app import main\ntry: main()\nexcept SystemExit: pass"


def imported_by(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", WATCH.format(code=code)], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "package", ["tracebench_core", "tracebench_core.config", "tracebench_core.plugins", "tracebench_core.store"]
)
def test_a_package_is_light(package: str) -> None:
    assert not HEAVY & imported_by(f"import {package}")


def test_the_package_itself_imports_nothing_but_the_standard_library() -> None:
    assert not {"pydantic", "yaml", "typer", "rich", "pluggy"} & imported_by("import tracebench_core")


def test_help_imports_no_model_and_no_plugin_machinery() -> None:
    imported = imported_by(CLI.format(arguments=["--help"]))

    assert "typer" in imported
    assert not (HEAVY | {"pydantic", "yaml", "rich", "pluggy", "packaging"}) & imported


@pytest.mark.parametrize("command", ["list-tasks", "list-trainers", "list-suites", "plugins"])
def test_listing_imports_nothing_heavy(command: str) -> None:
    imported = imported_by(CLI.format(arguments=[command]))

    assert "pluggy" in imported
    assert not (HEAVY | {"packaging", "rich", "yaml"}) & imported
