"""A hint that installs something works when it is typed where it is read: with pip, without pip, without uv, in a tool of uv's."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from tests.whole import HEAVY, SOAK

import tracebench_core
from tracebench_core.errors import UsageError, typed

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")]
HINT = "import sys; from tracebench_core.errors import UsageError; print(UsageError('x', hint='''pip install --dry-run -q pip''').hint)"
SHOWING = {"note", "line", "write", "print", "warn", "warning", "info", "document", "Check", "ProviderError"}


def hint_in(python: Path | str, source: str = HINT, **environ: str) -> str:
    home = str(Path(tracebench_core.__file__).parents[1])
    env = {"PYTHONPATH": home, "HOME": "/nonexistent", "PATH": os.defpath} | environ
    return subprocess.run(
        [str(python), "-c", source], env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


def type_it(hint: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(home), **environ}
    return subprocess.run(["bash", "-ec", hint], env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("has_pip", [pytest.param(True, marks=SOAK), pytest.param(False, marks=HEAVY)])
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


RECEIPT = """[tool]
requirements = [
    {name = "bench", extras = ["a", "b"], directory = "/where it/is"}, {name = "more", specifier = ">=1,<2"},
    {name = "far", git = "https://host/x.git"}, {name = "pip"},
]
python = "3.11"

[tool.options]
find-links = ["file:///wheels"]
"""


def test_a_tool_of_uv_is_installed_anew_with_more(tmp_path: Path) -> None:
    venv = tmp_path / "tool"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (venv / "uv-receipt.toml").write_text(RECEIPT)
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    uv.chmod(0o755)
    python, environ = venv / "bin" / "python", {"PATH": f"{tmp_path}:{os.defpath}"}
    hint = hint_in(python, source=HINT.replace("--dry-run -q pip", "-e '/a b[c]' \"x[y]\"   (or: z)"), **environ)
    given = type_it(hint.partition("   (or: z)")[0], tmp_path, PATH=environ["PATH"]).stdout.splitlines()
    assert given[:6] == ["tool", "install", "--python", "3.11", "--find-links", "file:///wheels"]
    assert given[6:] == [
        "/where it/is[a,b]", *("--with", "more>=1,<2"), *("--with", "far @ git+https://host/x.git"), *("--with", "pip"),
        *("--with", "/a b[c]"), *("--with", "x[y]"),
    ]  # fmt: skip
    assert hint_in(python, **environ).startswith("uv pip install --python ")  # with options that it has no like of
    (venv / "uv-receipt.toml").write_text("[tool]\nrequirements = 3\n")
    assert hint_in(python, **environ).startswith("uv pip install --python ")


@SOAK
@pytest.mark.timeout(900)
def test_a_hint_that_a_tool_of_uv_shows_adds_what_it_lacked_and_keeps_what_it_had(tmp_path: Path) -> None:
    uv = next(filter(None, (which("uv"), which("uv", path=str(ROOT / ".tools" / "bin")))), None)
    if uv is None:
        pytest.skip("uv is not here")
    commands = tmp_path / "commands"
    paths = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(commands), "UV_PYTHON": sys.executable}
    env = {**os.environ, **paths, "HOME": str(tmp_path), "PATH": f"{commands}:{Path(uv).parent}:{os.defpath}"}

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, env=env, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=600)

    made = said("uv", "tool", "install", str(ROOT / "libs" / "tracebench_engine"))
    assert made.returncode == 0, made.stderr
    for suite in ("llm4ad", "hf"):
        lacking = said("trace-bench", "list-tasks", "--bench", suite)
        assert lacking.returncode != 0
        hint = lacking.stderr.partition("hint: ")[2].strip()
        assert hint.startswith("uv tool install ")
        assert said("bash", "-ec", hint).returncode == 0, hint
    for suite in ("llm4ad", "hf"):
        assert said("trace-bench", "list-tasks", "--bench", suite).stdout.startswith(f"{suite}:")


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
