"""What commands print of findings, checks and logs, what a new package may be called, and when a page is opened."""

from __future__ import annotations

import json
import sys
import webbrowser
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from tracebench_core.errors import RunDirError, UsageError
from tracebench_engine.api import live
from tracebench_engine.api.checking import Finding, Skipped, Warned
from tracebench_engine.api.live import Asked
from tracebench_engine.api.rundirs.demos import Demo, unpacked
from tracebench_engine.checks.doctor import Diagnosis
from tracebench_engine.cli.parts.check import _conclusion, _print, _row
from tracebench_engine.cli.parts.doctor import _ask_live, _look_as, _tell
from tracebench_engine.cli.parts.init import PackageKind, _write, write_package
from tracebench_engine.cli.results.compare_logs import print_pairs
from tracebench_engine.cli.results.fsck import _advise
from tracebench_engine.cli.running import demo
from tracebench_runs.check.checks import Finding as Damage

ROWS = [
    Diagnosis("Python", ok=True, value="3.12", hint="x", needed=True),
    Diagnosis("GPU", ok=False, value="not found", hint="get one"),
    Diagnosis("disk", ok=False, value="full", hint="df -h", needed=True),
    Diagnosis("keys", ok=False, value="none", needed=True),
]


def test_what_is_needed_and_missing_fails_with_what_mends_it_below(capsys: pytest.CaptureFixture[str]) -> None:
    _tell(ROWS[:2], as_json=False)
    assert capsys.readouterr() == ("ok    Python  3.12\n-     GPU     not found\n              get one\n", "")
    with pytest.raises(typer.Exit) as caught:
        _tell(ROWS, as_json=False)
    told = capsys.readouterr()
    assert (caught.value.exit_code, told.err) == (3, "Missing: disk, keys.\n")
    assert told.out.splitlines()[3:] == ["FAIL  disk    full", "              df -h", "FAIL  keys    none"]
    with pytest.raises(typer.Exit):
        _tell(ROWS, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["ok"], [check["name"] for check in document["checks"]]) == (
        False,
        ["Python", "GPU", "disk", "keys"],
    )


def test_what_each_role_answered_is_two_lines_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Asked("agent", "m", True, "yes", 1.255, 0.5, (), None)
    bad = Asked("judge", "n", False, "x" * 301, 0.0, None, ("a", "b"), "http://x", "do so", is_used=False)
    monkeypatch.setattr(live, "ask_live", lambda *_: [good, bad])
    config: Any = object()
    with pytest.raises(typer.Exit) as caught:
        _ask_live(config, None, as_json=False)  # type: ignore[arg-type]  # not asked
    assert caught.value.exit_code == 3
    assert capsys.readouterr().out.splitlines() == [
        "ok    agent: m, 1.25 s, 0.5 USD", "      yes",
        "FAIL  judge: n at http://x, 0.00 s, price unknown, left out: a, b; no trainer or task of this config asks it",
        f"      {'x' * 300}", "      hint: do so",
    ]  # fmt: skip
    monkeypatch.setattr(live, "ask_live", lambda *_: [good])
    _ask_live(config, None, as_json=True)  # type: ignore[arg-type]
    assert json.loads(capsys.readouterr().out)["ok"] is True
    with pytest.raises(UsageError, match="asks the models of a config"):
        _ask_live(None, None, as_json=False)  # type: ignore[arg-type]


def test_nobody_else_can_be_looked_as() -> None:
    with pytest.raises(UsageError) as caught:
        _look_as("nobody", None, as_json=False)
    assert str(caught.value).startswith(
        "`--as nobody` is none of candidate, candidate-program, agent, command, trainer,"
    )
    assert caught.value.hint == "trace-bench doctor --as candidate"


def outcome(findings: Any = (), warned: Any = (), skipped: Any = ()) -> Any:
    check = SimpleNamespace(code="TB101", about="task", title="Is it so?")
    return SimpleNamespace(check=check, findings=findings, warned=warned, skipped=skipped)


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (outcome(), ["[OK] TB101 task: Is it so?"]),
        (outcome(skipped=[Skipped("TB101", "no GPU")]), ["[SKIP] TB101 task: Is it so?", "    no GPU"]),
        (
            outcome(warned=[Warned("TB101", "later", "s:t")], skipped=[Skipped("TB101", "no GPU", "s:u")]),
            ["[WARN] TB101 task: Is it so?", "    s:t: later", "    s:u: no GPU"],
        ),
        (
            outcome([Finding("TB101", "wrong", "s:t")], [Warned("TB101", "later")]),
            ["[FAIL] TB101 task: Is it so?", "    s:t: wrong", "    later"],
        ),
    ],
)
def test_a_check_is_a_line_and_what_it_found_below(
    given: Any, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _print(given)
    assert capsys.readouterr().out.splitlines() == lines
    row = _row(given)
    assert (row["code"], row["about"], row["asks"], row["ok"]) == ("TB101", "task", "Is it so?", not given.findings)
    assert [*map(len, (row["findings"], row["warned"], row["skipped"]))] == [  # type: ignore[arg-type]
        len(given.findings), len(given.warned), len(given.skipped),
    ]  # fmt: skip


def test_the_end_of_checks_says_what_else_may_be_checked() -> None:
    some = [outcome(), outcome()]
    assert _conclusion(some, some[:1], deep=False, name="p").startswith("1 of 2 checks failed; ")
    assert _conclusion(some, [], deep=True, name="p") == "2 checks, none failed."
    assert _conclusion(some, [], deep=False, name="p") == (
        "2 checks, none failed. All tasks and the slow checks:  trace-bench plugins check p --deep"
    )


def damage(by: Any) -> Damage:
    return Damage(code="c", path="p", message="m", mended_by=by)


@pytest.mark.parametrize(
    ("ways", "notes"),
    [
        ([], ["`R` is consistent."]),
        (["nothing"], ["What is left does no harm: results and tables are right."]),
        (["nothing", "repair"], ["Rebuild, and set aside what is damaged:  trace-bench fsck R --repair"]),
        (
            ["resume", "accept"],
            ["Run again what is lost:  trace-bench resume R", "Take the loss as it is:  trace-bench fsck R --accept"],
        ),
    ],
)
def test_what_is_left_of_damage_is_told_with_what_mends_it(
    ways: list[str], notes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _advise([damage(way) for way in ways], Path("R"))
    assert capsys.readouterr().err.splitlines() == notes


def test_a_pair_of_logs_is_a_row_with_a_dash_for_what_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    pair = SimpleNamespace(
        one="a", other="b", verdict="better", interval=SimpleNamespace(estimate=0.25, low=0.125, high=None), probability=0.0001,
        adjusted=None, test="t", error=0.5, unpaired=None, questions=9, clusters=3, won=4, lost=5, resolution=None, more=None,
    )  # fmt: skip
    print_pairs(SimpleNamespace(pairs=[pair]), None)  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines()[2].split("\t") == [
        "a", "b", "better", "0.25", "-", "<0.001", "-", "t", "0.5", "-", "9", "3", "4", "5", "-", "-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "hint"),
    [("My Suite", "my_suite"), ("1st-one", "st_one"), ("ok_", "ok"), ("ÄÖ", "mine"), ("a--b", "a_b"), ("_x", "x")],
)
def test_a_package_needs_a_name_that_can_be_one(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        write_package(PackageKind.SUITE, name, tmp_path)
    assert str(caught.value).startswith(f"`{name}` cannot be a plugin's name: ")
    assert caught.value.hint == f"trace-bench init suite {hint}"


def test_a_package_takes_no_name_that_is_taken(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^A plugin `internal` is installed already\.$") as caught:
        write_package(PackageKind.SUITE, "internal", tmp_path)
    assert caught.value.hint == "trace-bench init suite internal_2"
    folder = write_package(PackageKind.TRAINER, "own-one", tmp_path)
    assert folder == tmp_path / "tracebench-own-one"
    assert (folder / "src/tracebench_own_one").is_dir() or (folder / "tracebench_own_one").is_dir()
    told = (folder / "pyproject.toml").read_text()
    assert 'OwnOne = "own_one"' in told
    assert "@@" not in told
    with pytest.raises(UsageError) as caught:
        write_package(PackageKind.TRAINER, "own-one", tmp_path)
    assert (str(caught.value), caught.value.hint) == (
        f"`{folder}` exists.",
        "trace-bench init trainer own-one --into DIR",
    )


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "new/a.yaml"
    _write(file, "x")
    with pytest.raises(UsageError) as caught:
        _write(file, "y")
    assert (str(caught.value), caught.value.hint, file.read_text()) == (
        f"`{file}` exists.",
        f"mv {file} {file}.old",
        "x",
    )
    with pytest.raises(UsageError) as caught:
        _write(file / "b", "y")
    assert (str(caught.value), caught.value.hint) == (f"`{file}/b` cannot be written: File exists.", f"ls -ld {file}")
    with pytest.raises(UsageError, match="cannot be written: File name too long"):
        _write(tmp_path / ("a" * 300), "y")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="link` exists"):
        _write(tmp_path / "link", "y")


def test_a_recording_is_unpacked_once_and_again_where_a_part_is_missing(tmp_path: Path) -> None:
    archive = tmp_path / "one.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("rec/meta/manifest.json", "{}")
        made.writestr("rec/a", "whole")
    shown = Demo("one", archive, "One", "m", 1)
    place = unpacked(shown, tmp_path / "runs")
    assert (place.parent.parent, place.name, len(place.parent.name)) == (tmp_path / "runs/.demos", "rec", 12)
    (place / "a").write_text("other")
    assert (unpacked(shown, tmp_path / "runs") / "a").read_text() == "other"
    (place / "a").write_text("cut")
    assert (unpacked(shown, tmp_path / "runs") / "a").read_text() == "whole"
    assert {path.name for path in (tmp_path / "runs/.demos").iterdir()} == {place.parent.name}
    archive.write_bytes(b"no zip")
    with pytest.raises(RunDirError, match="is no recorded run: "):
        unpacked(shown, tmp_path / "runs")


@pytest.mark.parametrize("there", ["nothing", "a damaged one"])
def test_a_recording_is_seen_whole_or_not_at_all_while_others_unpack_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    archive, runs, extract = tmp_path / "one.zip", tmp_path / "runs", zipfile.ZipFile.extractall
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("rec/a", "whole")
    shown = Demo("one", archive, "One", "m", 1)
    if there != "nothing":
        (unpacked(shown, runs) / "a").write_text("cut")
    seen = []

    def extracting(self: zipfile.ZipFile, path: Path) -> None:
        extract(self, path)
        seen.extend(found.read_text() for found in runs.glob(".demos/[0-9a-f]*/rec/a"))
        if len(seen) < 2:
            seen.append("")
            unpacked(shown, runs)

    monkeypatch.setattr(zipfile.ZipFile, "extractall", extracting)
    assert (unpacked(shown, runs) / "a").read_text() == "whole"
    assert "whole" not in seen
    (only,) = (runs / ".demos").iterdir()
    assert (only / "rec/a").read_text() == "whole"


@pytest.mark.parametrize(
    ("terminals", "environ", "shown"),
    [
        ((True, True), {"DISPLAY": ":0"}, True), ((True, True), {"WAYLAND_DISPLAY": "w"}, True), ((True, True), {}, False),
        ((False, True), {"DISPLAY": ":0"}, False), ((True, False), {"DISPLAY": ":0"}, False),
    ],
)  # fmt: skip
def test_a_page_is_opened_where_somebody_is_at_a_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminals: Any, environ: Any, shown: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for stream, is_terminal in zip(("stdout", "stderr"), terminals, strict=True):
        monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda it=is_terminal: it))
    opened: list[str] = []
    for browser, takes in (("/usr/bin/firefox", shown), ("/usr/bin/lynx", False)):
        named = SimpleNamespace(name=browser, open=lambda address: opened.append(address) or True)
        monkeypatch.setattr(webbrowser, "get", lambda named=named: named)
        assert (demo.has_display(), demo.open_page(tmp_path / "a.html")) == (shown, takes)
    assert opened == ([(tmp_path / "a.html").as_uri()] if shown else [])
