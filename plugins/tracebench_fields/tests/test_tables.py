"""The tables on fields go on where they were cut off, and show no held family without a release's secret."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import one_in

COMMAND = Path(__file__).parents[3] / "benchmarks/field_tables.py"


def tables(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, COMMAND, "--calls", "4", "--seeds", "3", "--rows", "NoOp", "BestOfN", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_was_cut_off_goes_on_and_nothing_is_made_twice(tmp_path: Path) -> None:
    first = tables("--families", "numbers", "--keep", tmp_path)
    assert first.returncode == 0, first.stderr
    [kept] = tmp_path.glob("*.jsonl")
    whole = kept.read_text()
    assert len(whole.splitlines()) == 6
    kept.write_text(whole[:-20])

    second = tables("--families", "numbers", "--keep", tmp_path)

    assert second.stdout == first.stdout
    again, before = ([json.loads(line) for line in text.splitlines()] for text in (kept.read_text(), whole))
    assert again[:-1] == before[:-1]
    assert {**again[-1], "seconds": 0} == {**before[-1], "seconds": 0}
    scores = {o["seed"]: o["score"] for o in before if o["trainer"] == "NoOp"}
    assert f"| NoOp | {sum(scores.values()) / 3:.3f}" in second.stdout
    assert all(o["is_initial"] and o["score"] == o["initial"] for o in before if o["trainer"] == "NoOp")
    assert all(o["calls"] == 4 and o["best_made"] >= o["score"] for o in before if o["trainer"] == "BestOfN")


@pytest.mark.parametrize(
    "arguments",
    one_in(
        3,
        [
            ["--half", "held"],
            ["--half", "reserve"],
            ["--half", "all"],
            ["--families", "order"],
            ["--families", "gates"],
            ["--half", "both", "--release", "never"],
        ],
    ),
    ids=" ".join,
)
def test_held_families_need_the_secret_of_a_release(tmp_path: Path, arguments: list[str]) -> None:
    refused = tables(*arguments, "--keep", tmp_path)
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert "--release NAME" in refused.stderr or "`never`" in refused.stderr
    assert not list(tmp_path.iterdir())
