"""Type checkers see a broken plugin before anything runs it: packages that `init` wrote, whole and broken by one word each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_engine.cli.parts.init import PackageKind, write_package

BREAKS = {
    "a misspelt `train`": (PackageKind.TRAINER, "trainer.py", "def train(", "def trian("),
    "a guide of another signature": (
        PackageKind.SUITE,
        "sorting.py",
        "def guide(self, example: Example, output: Any, _context: Context, /) -> Feedback:",
        "def guide(self, output: Any, example: Example) -> float:",
    ),
    "a factory that is not there": (PackageKind.SUITE, "plugin.py", "sorting.build,", "sorting.biuld,"),
    "a misspelt field": (PackageKind.SUITE, "sorting.py", "worst_score=", "wrost_score="),
    "answers that take nothing": (
        PackageKind.SUITE,
        "sorting.py",
        "def answers(_options: Mapping[str, Any])",
        "def answers()",
    ),
}
SAID = {
    "a misspelt `train`": "trainer.py",
    "a guide of another signature": "sorting.py",
    "a factory that is not there": "biuld",
    "a misspelt field": "wrost_score",
    "answers that take nothing": "answers",
}
"""What the complaint names."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of packages, by what is broken in them; nothing in the first two."""
    folder = tmp_path_factory.mktemp("packages")
    made = {kind.value: write_package(kind, f"whole-{kind.value}", folder) for kind in PackageKind}
    for number, (what, (kind, name, right, wrong)) in enumerate(BREAKS.items()):
        made[what] = write_package(kind, f"broken-{number}", folder)
        (file,) = made[what].rglob(name)
        text = file.read_text()
        assert text.count(right) == 1
        file.write_text(text.replace(right, wrong))
    return made


def errors_of(told: dict[str, list[str]], packages: dict[str, Path]) -> dict[str, list[str]]:
    """Return complaints by package, of what was told by file."""
    return {
        what: [line for file, lines in told.items() if f"/{folder.name}/" in file for line in lines]
        for what, folder in packages.items()
    }


def check(found: dict[str, list[str]]) -> None:
    whole = {kind.value: found.pop(kind.value) for kind in PackageKind}
    assert whole == {kind.value: [] for kind in PackageKind}
    assert {what: bool(lines) for what, lines in found.items()} == dict.fromkeys(BREAKS, True)
    assert {what: any(SAID[what] in line for line in lines) for what, lines in found.items()} == dict.fromkeys(
        BREAKS, True
    )


@HEAVY
def test_mypy_refuses_what_is_broken_and_nothing_else(packages: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    sources = [str(folder / "src") for folder in packages.values()]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--output=json", f"--cache-dir={tmp_path}", *sources],
        capture_output=True, text=True, check=False, timeout=170, cwd=tmp_path, env=os.environ | {"MYPYPATH": ":".join(sources)},
    )  # fmt: skip
    told: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        each = json.loads(line)
        if each["severity"] == "error":
            file = str(Path(tmp_path, each["file"]).resolve())
            told.setdefault(file, []).append(f"{file}: {each['message']}")
    check(errors_of(told, packages))


@pytest.mark.heavy("pyright")
def test_pyright_refuses_what_is_broken_and_nothing_else(packages: dict[str, Path]) -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    sources = [f"{folder.name}/src" for folder in packages.values()]
    home = packages["suite"].parent
    project = {"include": sources, "extraPaths": sources, "typeCheckingMode": "standard"}
    (home / "pyrightconfig.json").write_text(json.dumps(project))
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "--project", str(home)],
        capture_output=True, text=True, check=False, timeout=170,
    )  # fmt: skip
    told: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        if each["severity"] == "error":
            told.setdefault(each["file"], []).append(f"{each['file']}: {each['message']}")
    check(errors_of(told, packages))
