"""`recap`: what a run would have been, checked against runs that really had that cap."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.whole import HEAVY

Cli = Callable[..., CompletedProcess[str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
CONFIG = """
tasks: [internal:code_param, internal:numeric_param]
trainers: [NoOp, RandomSearch, BestOfN, SequentialRefine]
seeds: [1]
run_id: free
"""


@pytest.fixture
def runs(here: Path) -> Path:
    """A run without a budget, under `runs/free`."""
    return here / "runs"


def recap(cli: Cli, *arguments: str) -> dict[str, Any]:
    done = cli("recap", "free", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def key(job: dict[str, Any]) -> tuple[str, str, int]:
    return job["task_id"], job["trainer_id"], int(job["seed"])


@HEAVY  # `tests/unit/builtin/test_baselines.py` compares a recap with a real run, too
@pytest.mark.parametrize(
    ("axis", "option", "cap"),
    [("evaluations", "--max-evaluations", 7), ("llm_calls", "--max-calls", 3)],
)
def test_a_recap_is_what_a_run_with_that_cap_finds(cli: Cli, runs: Path, axis: str, option: str, cap: int) -> None:
    cli("run", "--config", "c.yaml", "-o", "run_id=capped", "-o", f"budget.{axis}={cap}", env=CORE_ONLY)
    real = {key(row): row for row in csv.DictReader((runs / "capped/results.csv").read_text().splitlines())}
    told = {key(job): job for job in recap(cli, option, str(cap))["jobs"]}

    assert told.keys() == real.keys()
    for which, job in told.items():
        row = real[which]
        assert job["stop_reason"] == row["stop_reason"], which
        assert job["used"]["evaluations"] == int(row["evaluations"]), which
        assert job["used"]["llm_calls"] == int(row["llm_calls"]), which
        if job["score_val"] is not None:
            assert job["score_val"] == pytest.approx(float(row["score_val_best"])), which
        if job["score_test"] is not None:
            assert job["score_test"] == pytest.approx(float(row["score_test"])), which
    assert any(job["cut_by"] for job in told.values())
    assert any(job["score_val"] is None for job in told.values())


def test_without_a_cap_the_leaderboard_is_the_runs_own(cli: Cli, runs: Path) -> None:
    told = recap(cli)["leaderboard"]
    real = list(csv.DictReader((runs / "free/leaderboard.csv").read_text().splitlines()))

    assert [(row["task_id"], row["trainer_id"], row["rank"]) for row in real] == [
        (row["task_id"], row["trainer_id"], str(row["rank"])) for row in told
    ]
    assert [float(row["mean"]) for row in real] == [row["mean"] for row in told]


def test_measures_are_never_mixed_within_a_task(cli: Cli, runs: Path) -> None:
    document = recap(cli, "--max-evaluations", "6")
    by_task: dict[str, set[str]] = {}
    for row in document["leaderboard"]:
        by_task.setdefault(row["task_id"], set()).add(row["measured_on"])

    assert all(len(measures) == 1 for measures in by_task.values())
    unknown = {job["task_id"] for job in document["jobs"] if job["score_val"] is None}
    assert all(by_task[task] == {"best so far"} for task in unknown)


def test_prices_from_a_file_are_applied(cli: Cli, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("stub: {prompt: 1000, completion: 0}\n")
    free = recap(cli)["jobs"]
    paid = recap(cli, "--prices", "prices.yaml")["jobs"]
    capped = recap(cli, "--prices", "prices.yaml", "--max-usd", "0.5")["jobs"]

    assert sum(job["used"]["usd"] for job in free) == 0
    asked = [job for job in paid if job["used"]["llm_calls"]]
    assert all(0 < job["used"]["usd"] <= job["used"]["tokens"] / 1000 for job in asked)
    assert {job["cut_by"] for job in capped if job["trainer_id"] == "BestOfN"} == {"usd"}
    assert all(job["used"]["usd"] < 1.0 for job in capped)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stbu: {prompt: 1, completion: 1}", "The run used no model `stbu`. Did you mean `stub`?"),
        ("stub: {promt: 1, completion: 1}", "`stub.promt` is not a known field. Did you mean `prompt`?"),
        ("stub: {completion: 1}", "`stub.prompt` is missing."),
        ("stub: {prompt: -1, completion: 1}", "`stub.prompt` must be 0 or more"),
        ("stub: cheap", "`stub` must be a mapping"),
        ("[1, 2]", "a mapping of fields"),
        ("stub: {prompt: .nan, completion: 1}", "`stub.prompt`"),
        ("stub: {", "line 1"),
    ],
)
def test_a_wrong_price_file_is_refused_by_name(cli: Cli, here: Path, text: str, expected: str) -> None:
    (here / "prices.yaml").write_text(text + "\n")
    done = cli("recap", "free", "--prices", "prices.yaml")

    assert done.returncode == 2, done.stdout
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_the_table_says_unknown_and_names_the_measure(cli: Cli, runs: Path) -> None:
    done = cli("recap", "free", "--max-evaluations", "6")

    assert done.returncode == 0
    assert "\tunknown\t" in done.stdout
    assert "best so far" in done.stdout


def test_a_run_that_is_none_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("recap", "nothing", "--max-calls", "1")

    assert done.returncode == 2
    assert "There is no run `nothing`" in done.stderr
    assert cli("recap", "nothing", "--max-calls", "-1").returncode == 2
