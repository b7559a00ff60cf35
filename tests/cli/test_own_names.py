"""A folder that holds files named like modules of the standard library is a place like any other to type commands in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import HEAVY

ROOT = Path(__file__).parents[2]
NAMES = ("copy", "json", "types", "random", "statistics", "queue", "yaml", "pydantic", "numpy", "typing")
CONFIG = "run_id: r\ntasks: [internal:numeric_param]\ntrainers: [RandomSearch]\nseeds: [1]\nmode: stub\nbudget: {evaluations: 4}\n"


@pytest.fixture
def named(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('this is {name}.py of the folder')\n")
    (tmp_path / "c.yaml").write_text(CONFIG)
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--config", "c.yaml"),
        pytest.param(("plugins", "check", "internal", "--code", "TB101", "--code", "TB315"), marks=HEAVY),
        pytest.param(("calibrate", "internal:numeric_param"), marks=HEAVY),
        pytest.param(("evaluate", "internal:code_param"), marks=HEAVY),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_takes_no_module_from_the_folder_it_is_typed_in(named: Path, arguments: tuple[str, ...]) -> None:
    command = [str(Path(sys.executable).with_name("trace-bench")), *arguments]
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("TRACEBENCH_", "PYTHON"))}
    done = subprocess.run(command, cwd=named, env=environ, capture_output=True, text=True, check=False, timeout=580)

    assert "of the folder" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    if arguments[0] == "run":
        [result] = [json.loads(path.read_text()) for path in named.glob("runs/r/jobs/*/results.json")]
        assert result["status"] == "ok"


def test_no_module_of_ours_is_started_with_the_folder_on_its_path() -> None:
    started = re.compile(r"""sys\.executable,\s*["']-m["']""")
    places = [ROOT / "src", *ROOT.glob("libs/*/src"), *ROOT.glob("plugins/*/src")]
    files = [path for place in places for path in place.rglob("*.py")]

    assert len(files) > 500
    assert [str(path.relative_to(ROOT)) for path in files if started.search(path.read_text())] == []
