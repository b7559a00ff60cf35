"""`plan`: what a config will use beside what it then uses, and what its seeds can tell."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.whole import cells

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
CONFIG = "tasks: [internal:code_param]\ntrainers: [NoOp, RandomSearch, BestOfN]\nseeds: [1, 2, 3]\nrun_id: one\nbudget: {evaluations: 30}\n"
MINE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TaskSpec, TrainerSpec

def silent(settings): raise RuntimeError
def broken_cost(settings, shape): raise RuntimeError("no idea")
def build(): raise ValueError("no data")

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Silent", loader="mine:silent", uses_model=False)
    yield TrainerSpec(name="Broken", loader="mine:silent", uses_model=False, cost="mine:broken_cost")

@hookimpl
def tracebench_tasks():
    yield TaskSpec(name="closed", loader="mine:build", title="cannot be opened")
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG)
    return path


def planned(cli: Cli, *arguments: str, env: Mapping[str, str] = CORE_ONLY) -> dict[str, Any]:
    done = cli("plan", "c.yaml", "--json", *arguments, env=env)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert (document["schema_version"], document["kind"]) == (1, "plan")
    return document


def used_in(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the run's results."""
    return list(csv.DictReader((folder / "runs/one/results.csv").read_text().splitlines()))


def check_held(plan: dict[str, Any], used: list[dict[str, str]]) -> None:
    """Check that what a run used lies within its plan."""
    for row in used:
        job = next(job for job in plan["jobs"] if job["job_id"] == row["job_id"])
        for axis in ("evaluations", "llm_calls"):
            assert job[axis]["low"] <= float(row[axis]) <= job[axis]["high"], (row["trainer_id"], axis)
        assert (job["cut_by"] is not None) == row["stop_reason"].startswith("budget:"), row["trainer_id"]
    total = plan["total"]["evaluations"]
    assert total["low"] <= sum(int(row["evaluations"]) for row in used) <= total["high"]


@pytest.mark.parametrize(
    "budget",
    cells(
        [("{evaluations: 10}",), ("{tokens: 6000}",), ("{}",)],
        always=[],  # the next test asks it of another budget
    ),
)
def test_the_plan_holds_what_the_run_then_uses(cli: Cli, config: Path, tmp_path: Path, budget: str) -> None:
    config.write_text(CONFIG.replace("{evaluations: 30}", budget))
    before = planned(cli)
    cli("run", "--config", "c.yaml", env=CORE_ONLY)

    check_held(before, used_in(tmp_path))


def test_past_runs_sharpen_the_plan(cli: Cli, config: Path, tmp_path: Path) -> None:
    before = planned(cli)
    cli("run", "--config", "c.yaml", env=CORE_ONLY)
    after = planned(cli)
    used = used_in(tmp_path)
    tokens = sum(int(row["prompt_tokens"]) + int(row["completion_tokens"]) for row in used)

    check_held(before, used)
    assert (before["past_jobs"], after["past_jobs"]) == (0, 9)
    assert abs(after["total"]["tokens"]["likely"] - tokens) < 0.25 * tokens
    assert abs(before["total"]["tokens"]["likely"] - tokens) > tokens
    task = after["resolution"]["tasks"][0]
    assert task["sd"] is not None
    assert task["smallest_in_score"] == pytest.approx(task["smallest_in_sd"] * task["sd"])
    assert before["resolution"]["tasks"][0]["sd"] is None


def test_a_plan_says_what_it_cannot_tell(cli: Cli, config: Path) -> None:
    done = cli("plan", "c.yaml", "-o", "budget.evaluations=6", "-o", "seeds=[1]", env=CORE_ONLY)

    assert done.returncode == 0
    assert "1 seed a trainer cannot tell a difference" in done.stdout
    assert "the budget allows `BestOfN` on `internal:code_param` about 0 of 8 proposals" in done.stderr
    assert "17 resolve one standard deviation" in done.stderr
    assert "NoOp` on" not in done.stderr


def test_enough_seeds_and_budget_give_no_warning(cli: Cli, config: Path) -> None:
    seeds = json.dumps(list(range(8)))

    assert planned(cli, "-o", f"seeds={seeds}", "-o", "budget.evaluations=100")["warnings"] == []


def test_an_unknown_price_is_unknown(cli: Cli, config: Path) -> None:
    real = ("-o", "mode=real", "-o", "llm.model=openai/nobody-knows", "-o", "trainers=[BestOfN]")

    assert planned(cli, *real)["total"]["usd"] is None
    priced = planned(cli, *real, "-o", 'llm.prices={"nobody-knows": {"prompt": 1, "completion": 1}}')
    assert priced["total"]["usd"]["likely"] > 0


def test_what_declares_nothing_or_cannot_be_opened_costs_only_itself(
    cli: Cli, config: Path, plugin_path: Install
) -> None:
    env = {
        **plugin_path("mine", MINE, group="tracebench", entry="mine", target="mine"),
        "TRACEBENCH_PLUGINS": "mine",
    }
    document = planned(
        cli, "-o", "trainers=[NoOp, Silent, Broken]", "-o", "tasks=[internal:numeric_param, mine:closed]",
        "-o", "budget={}", env=env,
    )  # fmt: skip
    known = {(job["task_id"], job["trainer_id"]): job["evaluations"] for job in document["jobs"]}

    assert known["internal:numeric_param", "NoOp"]["likely"] == 1
    assert known["internal:numeric_param", "Silent"] is None
    assert known["mine:closed", "NoOp"] is None
    assert document["total"]["evaluations"] is None
    said = "\n".join(document["warnings"])
    assert "`Silent` declares no cost" in said
    assert "the cost model of `Broken` failed: no idea" in said
    assert "`mine:closed` cannot be opened: no data" in said


def test_a_plan_runs_nothing_and_writes_nothing(cli: Cli, config: Path, tmp_path: Path) -> None:
    planned(cli)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.yaml"]


def test_the_core_alone_has_a_trainer_for_a_config_that_names_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("tasks: [internal:numeric_param]\n")

    assert "SequentialRefine" in cli("plan", "none.yaml", env=CORE_ONLY).stdout


@pytest.mark.parametrize(("file", "code"), [("missing.yaml", 2), ("empty.yaml", 6), ("typo.yaml", 2)], ids=str)
def test_a_bad_config_is_told_like_everywhere(cli: Cli, tmp_path: Path, file: str, code: int) -> None:
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "typo.yaml").write_text("task: [x]\n")
    done = cli("plan", file, env=CORE_ONLY)

    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


ASKING = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TaskSizes, TaskSpec

@hookimpl
def tracebench_tasks():
    yield TaskSpec(name="one", loader="mine:none", title="one", uses_model=True, sizes=TaskSizes(train=3, test=2))
"""


def test_a_plan_tells_what_scoring_asks_of_models_and_which_cap_holds_for_it(
    cli: Cli, config: Path, plugin_path: Install
) -> None:
    env = plugin_path("mine", ASKING, group="tracebench", entry="mine", target="mine")
    config.write_text("tasks: [mine:one]\ntrainers: [NoOp]\nbudget: {llm_calls: 7}\n")
    told = cli("plan", "c.yaml", env=env)
    assert "5 / 19 / 44 model calls a job of `mine:one`, which no cap holds for" in told.stdout
    low = cli("plan", "c.yaml", "-o", "scoring_budget.llm_calls=10", env=env)
    assert (
        "warning: scoring: 5 / 19 / 44 model calls a job of `mine:one`, and `scoring_budget` ends it at 10"
        in low.stderr
    )
    (job,) = planned(cli, "-o", "scoring_budget.llm_calls=10", env=env)["jobs"]
    assert (job["scoring"]["llm_calls"], job["scoring_cut_by"]) == ({"low": 5, "likely": 19, "high": 44}, "llm_calls")
    (free,) = planned(cli, env=env)["jobs"]
    assert free["llm_calls"]["high"] - job["llm_calls"]["high"] == 44 - 10
    checked = cli("validate", "--config", "c.yaml", "-o", "scoring_budget.llm_calls=99", env=env)
    assert "[OK] scoring: 5 / 19 / 44 model calls a job of `mine:one`, at most 99 llm_calls" in checked.stdout
