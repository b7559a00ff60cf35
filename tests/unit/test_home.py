"""What a test does to the user's home is told, and fails the tests where nobody else can have done it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.home import CHANGED, GIVEN
from tests.whole import HEAVY

ROOT = Path(__file__).parents[2]
PLANTED = """
import os, pathlib, subprocess, sys
USERS = pathlib.Path({home!r})
def test_of_its_own():
    assert pathlib.Path.home() != USERS
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        pathlib.Path(os.environ[f"XDG_{{name}}_HOME"], "mine").touch()
def test_planted():
    {planted}
"""
ACCOUNT = """
import pwd, types
ENTRIES = {entries!r}
pwd.getpwuid = lambda uid: types.SimpleNamespace(pw_dir=ENTRIES[0]) if ENTRIES else {{}}[uid]
"""
"""What the machine says of the user, as the user's own home may change while this runs."""
WRITES = "USERS.joinpath('.local/state/trace-bench/journals/planted').touch()"
WRITES_WITHOUT_VARIABLES = f"USERS = pathlib.Path({{account!r}}); {WRITES}"
CHANGES = "USERS.joinpath('.cache/trace-bench/kept').write_text('more')"
PLANTED_FILE = ".local/state/trace-bench/journals/planted"


@pytest.mark.parametrize(
    ("planted", "alone", "code", "told"),
    [
        (WRITES, True, CHANGED, PLANTED_FILE),
        ("pass", True, 0, ""),
        (WRITES_WITHOUT_VARIABLES, True, CHANGED, f"account/{PLANTED_FILE}"),
        pytest.param(CHANGES, True, CHANGED, ".cache/trace-bench/kept", marks=HEAVY),
        pytest.param(WRITES, False, 0, PLANTED_FILE, marks=HEAVY),
    ],
)
def test_a_change_in_the_users_home_is_told(tmp_path: Path, planted: str, alone: bool, code: int, told: str) -> None:
    home, account = tmp_path / "home", tmp_path / "account"
    for each in (home, account):
        (each / ".local/state/trace-bench/journals").mkdir(parents=True)
    (home / ".cache/trace-bench").mkdir(parents=True)
    (home / ".cache/trace-bench/kept").write_text("kept")
    is_elsewhere = planted == WRITES_WITHOUT_VARIABLES
    planted = planted.format(account=str(account)) if is_elsewhere else planted
    (tmp_path / "test_planted.py").write_text(PLANTED.format(home=str(home), planted=planted))
    (tmp_path / "conftest.py").write_text(ACCOUNT.format(entries=[str(account)] if is_elsewhere else []))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    dropped = {GIVEN, "TRACEBENCH_ALONE", "PYTEST_ADDOPTS"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_") and k not in dropped}
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environ = kept | {"HOME": str(home), "PYTHONPATH": str(ROOT)} | ({"TRACEBENCH_ALONE": "1"} if alone else {})
    if is_elsewhere:
        environ["XDG_STATE_HOME"] = str(tmp_path / "state")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.home", "-p", "no:cacheprovider", "test_planted.py"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == code, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert ("changed in your home" in done.stdout) == bool(told)
    assert told in done.stdout
    assert {path.name for path in home.rglob("mine")} == set()
