"""A hint that installs something works when it is typed where it is read: with pip, without pip, without uv."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import HEAVY

import tracebench_core
from tracebench_core.errors import UsageError, typed

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")]
HINT = "import sys; from tracebench_core.errors import UsageError; print(UsageError('x', hint='pip install --dry-run -q pip').hint)"
SHOWING = {"note", "line", "write", "print", "warn", "warning", "info", "document", "Check", "ProviderError"}


def hint_in(python: Path | str, **environ: str) -> str:
    source = str(Path(tracebench_core.__file__).parents[1])
    env = {"PYTHONPATH": source, "HOME": "/nonexistent", "PATH": os.defpath} | environ
    return subprocess.run([str(python), "-c", HINT], env=env, capture_output=True, text=True, check=True).stdout.strip()


def type_it(hint: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(home)}
    return subprocess.run(["bash", "-ec", hint], env=env, capture_output=True, text=True, check=False, timeout=120)


@HEAVY
@pytest.mark.parametrize("has_pip", [True, False])
def test_a_hint_works_in_an_environment_without_uv(tmp_path: Path, has_pip: bool) -> None:
    venv = tmp_path / "an environment"
    options = [] if has_pip else ["--without-pip"]
    subprocess.run([sys.executable, "-m", "venv", *options, str(venv)], check=True)
    hint = hint_in(venv / "bin" / "python")
    assert ("ensurepip" in hint) is not has_pip
    done = type_it(hint, tmp_path)
    assert done.returncode == 0, (hint, done.stderr)


def test_a_hint_names_the_uv_that_is_there(tmp_path: Path) -> None:
    """As `uv run` leaves it, on PATH, and where README's command puts it; what the stand-in is asked is what uv takes."""
    venv = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    uv = tmp_path / ".tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text("#!/bin/sh\necho asked: $*\n")
    uv.chmod(0o755)
    asked = f"asked: pip install --python {python} --dry-run -q pip\n"
    assert type_it(hint_in(python), tmp_path).stdout == asked
    assert hint_in(python, PATH=f"{uv.parent}:{os.defpath}").startswith("uv pip install --python ")
    uv.rename(tmp_path / "uv")
    assert type_it(hint_in(python, UV=str(tmp_path / "uv")), tmp_path).stdout == asked


def test_a_command_that_is_whole_is_left_as_it_is() -> None:
    for whole in ("uv pip install x", "python -m pip install x", "/a/b/pip install x", "trace-bench runs", ""):
        assert typed(whole) == whole
    assert typed(typed("pip install x")) == typed("pip install x") == UsageError("", hint="pip install x").hint


def test_no_line_that_is_shown_names_pip_by_itself() -> None:
    """What is not the hint of an error, of a requirement or of a diagnosis goes through `typed` by itself."""
    found = []
    for path in SOURCES:
        text = path.read_text()
        if "pip install" not in text:
            continue
        tree = ast.parse(text)
        held = {id(n) for call in _calls(tree, {"typed"}) for n in ast.walk(call)}
        held |= {id(n) for call in _calls(tree, SHOWING) for k in call.keywords if k.arg == "hint" for n in ast.walk(k)}
        found += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for call in _calls(tree, SHOWING)
            for node in ast.walk(call)
            if isinstance(node, ast.Constant) and "pip install" in str(node.value) and id(node) not in held
        ]
    assert found == []


def _calls(tree: ast.AST, names: set[str]) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) in names]
