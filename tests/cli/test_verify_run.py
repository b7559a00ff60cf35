"""The head of a run: printed, shown, and asked for later."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

CONFIG = "run_id: kept\ntasks: ['internal:numeric_param']\ntrainers: [NoOp]\nseeds: [1, 2]\n"
GOLDEN = Path(__file__).with_name("golden") / "1fa27cb.zip"


def head_of(cli: Cli) -> str:
    shown = json.loads(cli("show", "kept", "--runs-dir", "runs", "--json").stdout)
    assert (shown["chained"], shown["key_lost"]) == (True, False)
    return str(shown["head"])


@pytest.fixture
def kept(cli: Cli, tmp_path: Path) -> str:
    (tmp_path / "c.yaml").write_text(CONFIG)
    done = cli("run", "--config", "c.yaml", "--runs-dir", "runs", "-v")
    assert done.returncode == 0, done.stderr
    printed = re.search(r"^Head: ([0-9a-f]{64})$", done.stdout, re.MULTILINE)
    assert printed is not None, done.stdout
    assert head_of(cli) == printed[1]
    assert printed[1] in cli("show", "runs/kept").stderr
    return printed[1]


def verified(cli: Cli, *words: str) -> tuple[int, str]:
    done = cli("verify", "runs/kept", *words, "--json")
    return done.returncode, json.loads(done.stdout)["verdict"]


def test_a_run_is_verified_by_its_head(cli: Cli, kept: str, tmp_path: Path) -> None:
    away = {"XDG_STATE_HOME": str(tmp_path / "another-machine")}
    assert verified(cli, "--head", kept.upper()) == (0, "match")
    assert cli("verify", "runs/kept", "--head", kept, env=away).stdout.startswith("match: ")
    assert verified(cli) == (0, "whole")
    assert verified(cli, "--head", kept[:16]) == (0, "match")
    for other in ("0" * 64, "0" * 16, f"{kept[:16]}{'0' * 48}"):
        assert verified(cli, "--head", other) == (1, "differs")
    assert cli("resume", "runs/kept").returncode == 0
    assert verified(cli, "--head", kept) == (0, "match")
    assert head_of(cli) != kept

    results = next((tmp_path / "runs/kept/jobs").glob("*/results.json"))
    sound = results.read_bytes()
    results.write_bytes(sound.replace(b'"ok"', b'"failed"'))
    damaged = cli("verify", "runs/kept", "--head", kept, env=away)
    assert damaged.returncode == 1
    assert damaged.stdout.startswith("differs: ")
    assert results.parent.name in damaged.stdout
    results.write_bytes(sound)

    (tmp_path / "runs/kept/journal-main.jsonl").unlink()
    assert verified(cli, "--head", kept) == (1, "lost")


def test_a_run_of_an_earlier_version_is_not_chained(cli: Cli, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN) as archive:
        archive.extractall(tmp_path / "runs")
    (tmp_path / "runs/whole").rename(tmp_path / "runs/kept")
    assert verified(cli, "--head", "0" * 64) == (3, "not chained")
    assert "not chained" in cli("show", "runs/kept").stderr
    assert cli("resume", "runs/kept").returncode == 0
    assert verified(cli) == (3, "not chained")


def test_what_cannot_be_verified_is_told(cli: Cli, kept: str) -> None:
    for words in (
        ["runs/kept", "--head", "xyz"],
        ["runs/kept", "--head", kept[:15]],
        ["c.yaml", "runs/kept", "--head", "0" * 64],
        ["c.yaml"],
        ["nowhere"],
    ):
        done = cli("verify", *words)
        assert done.returncode == 2, words
        assert "hint: " in done.stderr
        assert "Traceback" not in done.stderr
