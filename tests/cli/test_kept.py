"""What a listing keeps for the next call, and everything that must make it look again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tracebench_engine.api.installed.catalogue import DocumentCache, Readings, digest

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]

SUITE = """
import os
from pathlib import Path
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Requirement, TaskSpec, TrainerSpec

HERE = Path(__file__).parent
LACK = Requirement(kind="path", name=str(HERE / "data" / "there"), hint="touch site/data/there")

@hookimpl
def tracebench_tasks():
    for name in (HERE / "names.txt").read_text().split():
        yield TaskSpec(name=name, title="T", loader="mine:build", requires=(LACK,))
    for path in sorted((HERE / "folder").iterdir()):
        yield TaskSpec(name=path.stem, title="T", loader="mine:build")
    if "MINE_TOO" in os.environ:
        yield TaskSpec(name="variable", title="T", loader="mine:build")

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Lacking", loader="mine:build", requires=(LACK,))
"""
LISTED = "mine:first\nmine:inside\n"


def age(folder: Path, seconds: float = 60.0) -> None:
    """Make everything in a folder older, as if it had been installed a while ago."""
    then = time.time() - seconds
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (then, then))


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def mine(plugin_path: Install, tmp_path: Path, cache: Path) -> dict[str, str]:
    found = plugin_path("mine", SUITE, group="tracebench", entry="mine", target="mine")
    site = tmp_path / "site"
    for folder in ("folder", "__pycache__", "data"):
        (site / folder).mkdir()
    (site / "names.txt").write_text("first")
    (site / "folder" / "inside.txt").touch()
    age(tmp_path)
    steady = {"PYTEST_CURRENT_TEST": ""}  # pytest changes it between a fixture and its test
    return {**found, **steady, "TRACEBENCH_PLUGINS": "mine", "XDG_CACHE_HOME": str(cache)}


@pytest.fixture
def listed(cli: Cli, mine: dict[str, str], cache: Path) -> Path:
    """The file of a listing that was kept."""
    until = time.monotonic() + 30  # what was installed just now has to settle
    while not (files := list(cache.rglob("catalogue-*.json"))):
        assert time.monotonic() < until, "nothing was kept"
        assert LISTED in cli("list-tasks", env=mine).stdout
    return files[0]


def mark(file: Path) -> None:
    """Leave a sign in the kept document that only a call which takes it prints."""
    kept = json.loads(file.read_text())
    for row in kept["document"]["tasks"]:
        row["id"] += "-kept"
    kept["digest"] = digest(kept["document"], kept["files"])
    file.write_text(json.dumps(kept))


def test_the_next_listing_takes_what_was_kept(cli: Cli, mine: dict[str, str], listed: Path) -> None:
    mark(listed)

    assert "mine:first-kept" in cli("list-tasks", env=mine).stdout.splitlines()
    assert "mine:first-kept" in cli("list-tasks", "--bench", "mine", env=mine).stdout.splitlines()
    assert '"mine:first-kept"' in cli("list-tasks", "--json", env=mine).stdout


@pytest.mark.parametrize(
    "what", ["module", "file", "folder", "variable", "path", "interpreter", "age", "edited", "cut"]
)
def test_whatever_changes_is_looked_at_again(
    cli: Cli, mine: dict[str, str], listed: Path, tmp_path: Path, what: str
) -> None:
    site = tmp_path / "site"
    mark(listed)
    changes: dict[str, Callable[[], object]] = {
        "module": lambda: (site / "mine.py").write_text(SUITE.replace("path.stem", "path.stem + '-new'")),
        "file": lambda: (site / "names.txt").write_text("other"),
        "folder": (site / "folder" / "more.txt").touch,
        "variable": lambda: mine.update(MINE_TOO="1"),
        "path": lambda: mine.update(PATH=os.pathsep.join([os.environ["PATH"], str(tmp_path)])),
        "interpreter": lambda: mine.update(TRACEBENCH_PYTHONS=str(tmp_path)),
        "age": lambda: os.utime(listed, (0, time.time() - 90000)),
        "edited": lambda: listed.write_text(listed.read_text().replace("mine:first", "mine:worst")),
        "cut": lambda: listed.write_bytes(listed.read_bytes()[:-20]),
    }
    changes[what]()

    shown = cli("list-tasks", env=mine)

    assert shown.returncode == 0
    assert "-kept" not in shown.stdout
    new = {"module": "mine:inside-new", "file": "mine:other", "folder": "mine:more", "variable": "mine:variable"}
    assert new.get(what, "mine:first") in shown.stdout.splitlines()


def test_what_a_machine_lacks_is_looked_up_anew(cli: Cli, mine: dict[str, str], listed: Path, tmp_path: Path) -> None:
    mark(listed)

    def reasons() -> dict[str, bool]:
        rows = json.loads(cli("list-tasks", "--json", env=mine).stdout)["tasks"]
        return {row["id"]: row["unavailable"] is None for row in rows if row["id"].startswith("mine:")}

    assert reasons() == {"mine:first-kept": False, "mine:inside-kept": True}
    assert "Lacking" not in cli("list-trainers", env=mine).stdout
    (tmp_path / "site" / "data" / "there").touch()
    assert reasons() == {"mine:first-kept": True, "mine:inside-kept": True}
    assert "Lacking\tavailable" in cli("list-trainers", env=mine).stdout


def test_a_plugin_that_fails_is_told_of_each_time(cli: Cli, mine: dict[str, str], tmp_path: Path, cache: Path) -> None:
    (tmp_path / "site" / "mine.py").write_text("raise OSError('no disk')")
    age(tmp_path)

    for _ in range(2):
        done = cli("list-tasks", env=mine)
        assert done.returncode == 0
        assert "plugin mine (mine 1.0) failed to load: OSError: no disk" in done.stderr
    assert not list(cache.rglob("catalogue-*"))


def test_a_cache_that_cannot_be_written_costs_nothing_else(cli: Cli, mine: dict[str, str], cache: Path) -> None:
    cache.rmdir()
    cache.write_text("no folder")

    done = cli("list-tasks", env=mine)

    assert (done.returncode, done.stderr) == (0, "")
    assert LISTED in done.stdout


def test_what_is_made_from_a_file_that_changes_now_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "source.txt"
    source.write_text("a")
    kept, readings = DocumentCache("thing"), Readings()
    document = source.read_text()

    kept.write(document, readings)

    assert kept.read() is None
