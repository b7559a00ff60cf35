"""A run whose journal is damaged, cut or gone: every command that reads runs refuses it, and says what to type."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.whole import one_in

CONFIG = "run_id: kept\ntasks: ['internal:numeric_param']\ntrainers: [NoOp, RandomSearch]\nseeds: [1, 2]\n"
READERS = (
    "show runs/kept", "compare runs/kept", "show runs/kept --json", "show runs/kept --all", "show JOB", "show JOB --evaluation 0",
    "show runs/kept --views drawn", "compare runs/kept --json", "report runs/kept", "export runs/kept --to out --format csv",
    "recap runs/kept --max-evaluations 1", "watch runs/kept", "replay runs/kept",
)  # fmt: skip


def changed_line(journal: Path) -> None:
    """Change one status, and leave the sum of its line as it was."""
    before = journal.read_bytes()
    journal.write_bytes(before.replace(b'"status":"ok"', b'"status":"no"', 1))
    assert journal.read_bytes() != before


def cut(journal: Path) -> None:
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "changed": changed_line,
    "garbled": lambda journal: journal.write_bytes(journal.read_bytes()[:200] + b"\x00\xff garbage\n"),
    "cut": cut,
    "emptied": lambda journal: journal.write_bytes(b""),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("damage", one_in(3, DAMAGES))
def test_every_reader_refuses_a_damaged_journal_and_says_what_to_type(cli: Cli, here: Path, damage: str) -> None:
    job = sorted((here / "runs/kept/jobs").iterdir())[0].relative_to(here)
    assert cli("show", "runs/kept").returncode == 0
    DAMAGES[damage](here / "runs/kept/journal-main.jsonl")

    for reader in READERS if damage == "changed" else READERS[:2]:
        refused = cli(*reader.replace("JOB", str(job)).split())
        assert refused.returncode == 2, (reader, refused.stdout, refused.stderr)
        assert "journal-main.jsonl` does not vouch for the run" in refused.stdout + refused.stderr, reader
        assert "resolved" not in refused.stdout
    hint = shlex.split(refused.stderr.rpartition("hint: ")[2])
    looked = cli(*hint[1:])
    assert looked.returncode == 1
    assert "journal-main.jsonl" in looked.stdout

    (listed,) = json.loads(cli("runs", "--json").stdout.splitlines()[-1])["runs"]
    assert "does not vouch" in listed["problem"]
    plain = cli("runs")
    assert "unreadable" in plain.stdout
    assert "trace-bench fsck runs/kept" in plain.stderr

    cli("fsck", "runs/kept", "--repair", "--accept")
    for reader in READERS[:2]:
        assert cli(*reader.split()).returncode == 0, reader


@pytest.mark.parametrize("damage", one_in(3, ["changed", "doubled", "cut"]))
def test_a_resume_through_damage_ends_with_what_to_type_and_not_with_success(cli: Cli, here: Path, damage: str) -> None:
    journal = here / "runs/kept/journal-main.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    if damage == "doubled":
        journal.write_bytes(b"".join([*lines[:7], *lines[6:]]))
    elif damage == "cut":
        journal.write_bytes(b"".join(lines[:-3]))
    else:
        changed_line(journal)

    resumed = cli("resume", "runs/kept")
    assert resumed.returncode == 1
    told = resumed.stdout + resumed.stderr
    assert cli(*shlex.split(told.rpartition("Look closer:")[2])[1:]).returncode == 1
    assert cli("fsck", "runs/kept", "--repair", "--accept").returncode in {0, 1}
    assert cli("resume", "runs/kept").returncode == 0
    assert cli("show", "runs/kept").returncode == 0
