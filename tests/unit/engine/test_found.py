"""Where runs, jobs and channels are found, and for how long what a listing keeps holds."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.errors import RunDirError, UsageError
from tracebench_engine.api.console import locate
from tracebench_engine.api.console.locate import find_job, find_run, find_to_read
from tracebench_engine.api.installed import catalogue
from tracebench_engine.api.installed.catalogue import DocumentCache, Readings
from tracebench_engine.door import control_registry
from tracebench_engine.door.control_registry import (
    RunEntry,
    control_folder,
    entries,
    entry_path,
    forget,
    read_entry,
    write_entry,
)


def a_run(folder: Path, name: str, *jobs: str) -> Path:
    (folder / name / "meta").mkdir(parents=True)
    (folder / name / "meta/manifest.json").write_text("{}")
    for job in jobs:
        (folder / name / "jobs" / job).mkdir(parents=True)
    return folder / name


def test_a_run_is_found_by_its_path_its_id_or_the_start_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = a_run(tmp_path, "abc1"), a_run(tmp_path, "abd2")
    (tmp_path / "abe").mkdir()
    (tmp_path / "abf").mkdir()
    (tmp_path / "abf/mirror.zip").touch()
    runs = str(tmp_path)
    assert find_run(str(one)) == one
    assert [find_run(name, runs_dir=runs) for name in ("abc1", "abc", "abd")] == [one, one, two]
    assert find_run("abf", runs_dir=runs) == find_to_read("abf", runs_dir=runs) == tmp_path / "abf"
    monkeypatch.setattr(sys, "argv", ["trace-bench", "recap", "ab", "--json"])
    with pytest.raises(RunDirError) as caught:
        find_run("ab", runs_dir=runs)
    assert (str(caught.value), caught.value.hint) == (
        "`ab` could be any of 3 runs: `abc1`, `abd2`, `abf`.", "trace-bench recap abf --json",
    )  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["pytest"])
    with pytest.raises(RunDirError) as caught:
        find_run("ab", runs_dir=runs)
    assert caught.value.hint == "trace-bench show abf"


@pytest.mark.parametrize(
    ("name", "error", "words", "hint"),
    [
        ("abx1", UsageError, "There is no run `abx1` in `{runs}`. Did you mean `abc1`?", "ls {runs}"),
        ("", UsageError, "There is no run `` in `{runs}`.", "ls {runs}"),
        ("{runs}", RunDirError, "`{runs}` is not a run directory: it has no `meta/manifest.json`.", "ls {runs}"),
    ],
)
def test_what_is_no_run_is_told_with_where_to_look(
    tmp_path: Path, name: str, error: Any, words: str, hint: str
) -> None:
    a_run(tmp_path, "abc1")
    if not name:
        name = "zzz"
        words = words.replace("``", "`zzz`")
    with pytest.raises(error) as caught:
        find_run(name.format(runs=tmp_path), runs_dir=str(tmp_path))
    assert (str(caught.value), caught.value.hint) == (words.format(runs=tmp_path), hint.format(runs=tmp_path))
    with pytest.raises(UsageError) as nowhere:
        find_run("zzz", runs_dir=str(tmp_path / "none"))
    assert nowhere.value.hint == "trace-bench runs"


def test_five_of_many_runs_are_named(tmp_path: Path) -> None:
    for i in range(6):
        a_run(tmp_path, f"ab{i}")
    with pytest.raises(RunDirError, match=r"any of 6 runs: `ab0`, `ab1`, `ab2`, `ab3`, `ab4`\.$"):
        find_run("ab", runs_dir=str(tmp_path))


def test_a_job_is_found_in_the_one_run_that_has_it(tmp_path: Path) -> None:
    one = a_run(tmp_path, "one", "aa", "bb")
    a_run(tmp_path, "two", "bb")
    runs = str(tmp_path)
    assert find_job(str(one / "jobs/aa")) == find_job("aa", runs_dir=runs) == one / "jobs/aa"
    assert find_job("zz", runs_dir=runs) is find_job("*", runs_dir=runs) is find_job(str(one), runs_dir=runs) is None
    with pytest.raises(RunDirError) as caught:
        find_job("bb", runs_dir=runs)
    assert (str(caught.value), caught.value.hint) == (
        "Job `bb` is in 2 runs: one, two.", f"trace-bench show {tmp_path}/two/jobs/bb",
    )  # fmt: skip
    assert locate.is_run(one)
    assert not locate.is_run(tmp_path)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the longest of a socket's are looked at here."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="r") as name:
        folder = Path(name)
        (folder / "t").mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "t"))
        yield folder


def test_a_run_under_way_is_announced_until_it_is_forgotten(runtime: Path) -> None:
    place = runtime / "run"
    entry = RunEntry("run", str(place), 7, "now", str(entry_path(place).with_suffix(".sock")))
    assert (read_entry(place), [*entries()]) == (None, [])
    write_entry(entry)
    Path(entry.address).touch()
    assert (read_entry(place), [*entries()]) == (entry, [entry])
    for text in ("{", "[]", '{"run_id": 1}'):
        (control_folder() / "0.json").write_text(text)
        assert [*entries()] == [entry]
    forget(entry)
    forget(entry)
    assert (read_entry(place), Path(entry.address).exists(), [*entries()]) == (None, False, [])


def test_the_folder_of_channels_is_this_users_alone_and_its_paths_are_short_enough(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = control_folder()
    assert (folder, folder.stat().st_mode & 0o777) == (runtime / "trace-bench", 0o700)
    folder.chmod(0o755)
    assert control_folder().stat().st_mode & 0o777 == 0o700
    for mode in (0o770, 0o707, 0o720):
        folder.chmod(mode)
        with pytest.raises(RunDirError) as caught:
            control_folder()
        assert (str(caught.value), caught.value.hint) == (
            f"`{folder}` is not a folder of this user alone.",
            f"chmod 700 {folder}",
        )
    folder.rmdir()
    folder.touch()
    with pytest.raises(RunDirError, match="cannot be made: File exists"):
        control_folder()
    own = runtime / "t" / f"trace-bench-{os.geteuid()}"
    room = control_registry.LONGEST_ADDRESS - len("/0123456789abcdef.sock")
    for length, expected in ((room, None), (room + 1, own)):
        name = "r" * (length - len(f"{runtime}//trace-bench"))
        (runtime / name).mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime / name))
        assert control_folder() == (expected or runtime / name / "trace-bench")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert control_folder() == own


def test_a_document_is_kept_until_what_it_was_made_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "source"
    source.write_text("a")
    old = time.time() - 60
    os.utime(source, (old, old))
    readings: Any = SimpleNamespace(paths=lambda: {str(source), str(tmp_path / "none")}, is_settled=lambda _: True)
    cache = DocumentCache("listing")
    assert cache.read() is None
    cache.write({"n": [1]}, SimpleNamespace(paths=readings.paths, is_settled=lambda _: False))  # type: ignore[arg-type]
    assert cache.read() is None
    cache.write({"n": [1]}, readings)
    assert DocumentCache("listing").read() == {"n": [1]}
    (file,) = (tmp_path / "cache/trace-bench").iterdir()
    for change in (lambda: source.write_text("ab"), (tmp_path / "none").touch):
        change()
        assert DocumentCache("listing").read() is None
        cache.write({"n": [1]}, readings)
    kept = json.loads(file.read_bytes())
    for broken in (
        b"{",
        b"[]",
        json.dumps(kept | {"document": {"n": [2]}}).encode(),
        json.dumps(kept | {"folder": "/x"}).encode(),
    ):
        file.write_bytes(broken)
        assert DocumentCache("listing").read() is None
    file.write_bytes(json.dumps(kept | {"folder": str(Path.cwd())}).encode())
    assert DocumentCache("listing").read() == {"n": [1]}
    monkeypatch.setenv("SOME_VARIABLE_OF_A_PLUGIN", "1")
    assert DocumentCache("listing").read() is None
    monkeypatch.delenv("SOME_VARIABLE_OF_A_PLUGIN")
    monkeypatch.setenv("COLUMNS", "33")
    assert DocumentCache("listing").read() == {"n": [1]}
    day = time.time() - 86400
    os.utime(file, (day + 60, day + 60))
    assert DocumentCache("listing").read() == {"n": [1]}
    os.utime(file, (day - 1, day - 1))
    assert DocumentCache("listing").read() is None


def test_what_is_read_meanwhile_is_noted_and_has_to_be_older_than_two_seconds(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    readings = Readings()
    (tmp_path / "a").read_text()
    (tmp_path / "b").write_text("b")
    (tmp_path / "c.pyc").touch()
    [*os.scandir(tmp_path)]
    noted = readings.paths()
    assert {str(tmp_path / "a"), str(tmp_path), catalogue.__file__} <= noted
    assert not {str(tmp_path / "b"), str(tmp_path / "c.pyc")} & noted
    now = readings._since + 2_000_000_000
    assert readings.is_settled([f"{now - 2_000_000_001} 1", "", "0 0"])
    assert not readings.is_settled(["", f"{now - 2_000_000_000} 1"])
