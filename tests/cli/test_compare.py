"""`compare` as people and scripts use it, on a run that really took place."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import command_in

Cli = Callable[..., CompletedProcess[str]]
ROOT = Path(__file__).parents[2]
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
    near = cli(*wide)
    assert (near.returncode, json.loads(near.stdout)["margin"]) == (0, 3.0)

    cut = json.loads(cli("compare", run, "--at", "5", "--json").stdout)
    assert cut["cut"] == {"evaluations": 5}
    assert max(entry["use"]["evaluations"] for entry in cut["leaderboard"]) <= 5


def test_programs_are_given_the_verdict_that_people_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG.replace("seeds: [1, 2, 3, 4, 5, 6]", "seeds: [1, 2]"))
    done = cli("run", "--config", "c.yaml", "--json", env=CORE_ONLY)
    verdict = json.loads(done.stdout.splitlines()[-1])["verdict"]
    compared = json.loads(cli("compare", "one", "--json").stdout)
    said = cli("compare", "one")

    assert verdict["sentence"] == compared["verdict"] == said.stdout.splitlines()[0]
    assert verdict["entrants"] == [entry["entrant"] for entry in compared["leaderboard"]]
    assert verdict["decided"] == (compared["pairs"][0]["verdict"] != "not resolved")
    assert [(p["verdict"], p["difference"], p["holm"]) for p in verdict["pairs"]] == [
        (p["verdict"], p["difference"]["estimate"], p["holm"]) for p in compared["pairs"]
    ]
    assert verdict["next_step"] == ("" if verdict["decided"] else said.stderr.splitlines()[-1])
    assert json.loads(cli("show", "one", "--json").stdout)["verdict"] == verdict
    jsonschema = pytest.importorskip("jsonschema", reason="it reads the published schema")
    jsonschema.validate(verdict, json.loads((ROOT / "configs/schema/verdict.schema.json").read_text()))


def test_a_run_that_compares_nothing_says_so_to_programs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tasks: [internal:numeric_param]\ntrainers: [NoOp]\nrun_id: alone\n")
    done = cli("run", "--config", "c.yaml", "--json", env=CORE_ONLY)
    verdict = json.loads(done.stdout.splitlines()[-1])["verdict"]

    assert (verdict["entrants"], verdict["pairs"], verdict["decided"]) == (["NoOp"], [], False)
    assert verdict["sentence"] == "Nothing to compare: NoOp alone has scores."


def test_what_would_settle_a_comparison_does_so_when_it_is_typed(cli: Cli, tmp_path: Path) -> None:
    """Typed from another folder than the run was started in, too; what `--limit` left out stays out."""
    (tmp_path / "c.yaml").write_text(
        "tasks: [internal:multi_param, internal:numeric_param]\ntrainers: [NoOp, RandomSearch]\nseeds: 1..2\n"
        "budget: {evaluations: 10}\nrun_id: r\n"
    )
    done = cli("run", "--config", "c.yaml", "--limit", "4", env=CORE_ONLY)
    (told,) = re.findall(r"\+(\d+) seeds? would likely decide, .*: trace-bench (run .*)", done.stderr)
    assert told[1] == f"run --config runs/r/meta/config.snapshot.yaml --extend-seeds -o seeds=1..{2 + int(told[0])}"

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = command_in(elsewhere)("compare", "../runs/r", env=CORE_ONLY)
    typed = asked.stderr.rpartition("trace-bench run ")[2].strip()
    extended = command_in(elsewhere)("run", *shlex.split(typed), env=CORE_ONLY)

    assert extended.returncode == 0, extended.stderr
    assert not (elsewhere / "runs").exists()
    (pair,) = json.loads(cli("compare", "r", "--json").stdout)["pairs"]
    assert pair["pairs"] == 2 + int(told[0])
    assert f"on 1 task with {2 + int(told[0])} seeds" in extended.stderr


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
