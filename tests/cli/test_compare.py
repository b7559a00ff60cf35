"""`compare` as people and scripts use it, on a run that really took place."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
CONFIG = """
tasks: [internal:code_param, internal:numeric_param]
trainers: [NoOp, RandomSearch]
seeds: [1, 2, 3, 4, 5, 6]
budget: {evaluations: 30}
run_id: one
"""


@pytest.fixture
def run(here: Path) -> str:
    assert (here / "runs" / "one").is_dir()
    return "one"


def test_a_run_is_compared_in_words_tables_csv_and_json_and_gates_decide(cli: Cli, run: str) -> None:
    text, table, data = cli("compare", run), cli("compare", run, "--csv"), cli("compare", run, "--json")

    assert text.stdout.startswith("RandomSearch is better than NoOp")
    rows = list(csv.DictReader(table.stdout.splitlines()))
    assert [(row["task"], row["entrant"]) for row in rows[:2]] == [("*", "RandomSearch"), ("*", "NoOp")]
    found = json.loads(data.stdout)
    assert found["pairs"][0]["verdict"] == "better"
    assert found["leaderboard"][0]["counted"] == found["leaderboard"][0]["jobs"] == 12

    assert cli("compare", run, "--gate", "RandomSearch > NoOp").returncode == 0
    missed = cli("compare", run, "--gate", "NoOp > RandomSearch", "--json")
    assert missed.returncode == 4
    assert json.loads(missed.stdout)["gates_missed"] == ["NoOp > RandomSearch"]
    assert "Gate not met: NoOp > RandomSearch." in missed.stderr

    wide = ("compare", run, "--margin", "3", "--gate", "NoOp ~ RandomSearch", "--json")
    assert json.loads(cli(*wide).stdout)["margin"] == 3.0
    assert cli(*wide).returncode == 0

    cut = json.loads(cli("compare", run, "--at", "5", "--json").stdout)
    assert cut["cut"] == {"evaluations": 5}
    assert max(entry["use"]["evaluations"] for entry in cut["leaderboard"]) <= 5


def test_a_wrong_word_is_refused_without_a_traceback(cli: Cli, run: str) -> None:
    for arguments, words in (
        (["nothing"], "There is no run `nothing`"),
        ([run, "--gate", "A"], "is no gate"),
        ([run, "--gate", "NoOp > RandomSerch"], "RandomSearch"),
        ([run, "--baseline", "Nop"], "NoOp"),
        ([run, "--most-seeds", "1"], "--most-seeds"),
        ([run, "--axis", "evals"], "evals"),
        ([run, "--margin", "nan"], "above 0"),
        ([run, "--gate", "NoOp ~ RandomSearch"], "--margin 0.02"),
    ):
        done = cli("compare", *arguments)

        assert done.returncode == 2, arguments
        assert words in done.stderr
        assert "Traceback" not in done.stderr
