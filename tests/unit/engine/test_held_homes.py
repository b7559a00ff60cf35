"""What a program of a job finds in a home of its own: copies of a tool's settings, and who commits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ProgramError
from tracebench_engine.door.held import APART, _settle_in, belongings, held_command
from tracebench_sandbox.jail import ENCLOSED, LIMITS, ONLY


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home."""
    home = tmp_path / "real"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


def home_of(tmp_path: Path, *, copied: Sequence[str] = ()) -> Path:
    """Return the home of a program that works in a folder."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    assert _settle_in(folder, {"HOME": "/elsewhere", "A": "b"}, copied=copied)["HOME"] == str(folder / "home")
    return folder / "home"


@pytest.mark.skipif(shutil.which("git") is None, reason="git says who commits")
@pytest.mark.parametrize("name", ["Ann", "Zoë Müller 😀", 'Ann "A" \\ B', "# no comment; none", "  spaced  "])
def test_who_commits_is_known_by_any_name(tmp_path: Path, real: Path, name: str) -> None:
    for field, value in (("name", name), ("email", "a@b.c"), ("signingkey", "secret")):
        subprocess.run(["git", "config", "--file", str(real / ".gitconfig"), f"user.{field}", value], check=True)

    settings = home_of(tmp_path) / ".gitconfig"
    listed = subprocess.run(
        ["git", "config", "--file", str(settings), "--list"], check=True, capture_output=True, encoding="utf-8"
    )
    assert listed.stdout == f"user.name={name}\nuser.email=a@b.c\n"


def test_nobody_commits_where_nobody_is_known(tmp_path: Path, real: Path) -> None:
    (real / ".gitconfig").write_text("[core]\n\tpager = less\n")
    assert not (home_of(tmp_path) / ".gitconfig").exists()


def test_settings_are_copied_to_where_they_lay_with_what_links_lead_to(tmp_path: Path, real: Path) -> None:
    (real / ".tool/deep").mkdir(parents=True)
    (real / ".tool/deep/a").write_text("a")
    (real / "elsewhere").write_text("b")
    (real / ".tool/link").symlink_to(real / "elsewhere")
    (real / ".tool/broken").symlink_to(real / "nowhere")
    (real / ".one").write_text("1")
    home = home_of(tmp_path, copied=["~/.tool", "$HOME/.one", "~/.missing", "~/x/../.one"])

    found = {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}
    assert found == {".tool/deep/a": "a", ".tool/link": "b", ".one": "1"}
    assert not (home / ".tool/link").is_symlink()


@pytest.mark.parametrize("name", ["/etc/passwd", "~/../other", "~/.tool/../../other", "~", "tool", "$NOT_SET/x"])
def test_only_what_lies_in_the_users_home_is_copied(tmp_path: Path, real: Path, name: str) -> None:
    (tmp_path / "other").write_text("not the user's")
    with pytest.raises(ProgramError) as caught:
        home_of(tmp_path, copied=[name])
    assert str(caught.value) == f"`{name}` cannot be copied for a program: it does not lie below `{real}`."
    assert [path.name for path in tmp_path.rglob("other")] == ["other"]


@pytest.mark.parametrize("name", ["~/.tool", "~/.tool/pipe"])
def test_what_cannot_be_copied_is_named_with_the_reason(tmp_path: Path, real: Path, name: str) -> None:
    (real / ".tool").mkdir()
    os.mkfifo(real / ".tool/pipe")
    with pytest.raises(ProgramError) as caught:
        home_of(tmp_path, copied=[name])
    assert str(caught.value) == f"`{name}` cannot be copied for a program: `{real}/.tool/pipe` is a named pipe."


def test_a_program_needs_what_its_links_lead_to(tmp_path: Path) -> None:
    (tmp_path / "opt/bin").mkdir(parents=True)
    (tmp_path / "opt/bin/tool").write_text("")
    (tmp_path / "opt/lib/node_modules").mkdir(parents=True)
    (tmp_path / "tool").symlink_to("mid")
    (tmp_path / "mid").symlink_to("opt/bin/tool")
    (tmp_path / "round").symlink_to("round")
    opt = tmp_path / "opt"
    assert [*belongings(tmp_path / "tool")] == [
        tmp_path / "tool", tmp_path / "mid", opt / "bin/tool", opt / "bin", opt / "lib/node_modules",
    ]  # fmt: skip
    (tmp_path / "py/lib/python3.99").mkdir(parents=True)
    (tmp_path / "py/lib/python3.99/os.py").write_text("")
    python = tmp_path / "py/bin/python"
    assert [*belongings(python)] == [python, tmp_path / "py/bin", tmp_path / "py/lib"]
    (opt / "pyvenv.cfg").write_text("")
    assert [*belongings(opt / "bin/tool")] == [opt / "bin/tool", opt]
    assert {*belongings(tmp_path / "round")} == {tmp_path / "round"}


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({}, [ONLY]),
        ({"network": "open"}, []),
        ({"processes": 3}, [ONLY, f'{LIMITS}{{"processes": 3}}']),
        ({"network": "open", "memory_mb": 0, "processes": 9}, [f'{LIMITS}{{"processes": 9, "memory_mb": 0}}']),
    ],
)
def test_a_program_of_no_job_is_held_as_far_as_is_said(tmp_path: Path, given: Any, options: list[str]) -> None:
    assert held_command(["a", "b"], tmp_path, files="host", **given) == [*APART, *options, "a", "b"]


def test_a_program_in_its_folder_is_shown_what_its_link_leads_to_and_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "tool").write_text("")
    (tmp_path / "work/mine").symlink_to("../tool")
    more = [Path("/usr/share/a"), tmp_path / "tool"]
    *_, option, program, word = held_command(["./mine", "x"], tmp_path / "work", readable=more)
    assert (program, word) == ("./mine", "x")
    assert json.loads(option.removeprefix(ENCLOSED)) == {
        "folder": str(tmp_path / "work"),
        "current": str(tmp_path / "work"),
        "readable": [str(tmp_path / "work/mine"), str(tmp_path / "tool"), "/usr/share/a"],
        "placed": [],
        "hidden": [],
    }
