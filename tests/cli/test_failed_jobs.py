"""Verdicts where jobs failed: a trainer without one score is said to have none, wherever a verdict is read."""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.whole import HEAVY

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": "", "SOME_KEY": "no-key"}
TRAINERS = """
import os
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TrainerSpec

class Frail:
    def train(self, problem):
        problem.evaluate(problem.initial)
        if str(problem.seed) in os.environ["FAILS"].split() and not os.path.exists(os.environ["GO"]):
            raise ValueError(f"no luck with {problem.seed}")

def frail(*args, **kwargs): return Frail()

@hookimpl
def tracebench_trainers():
    yield TrainerSpec(name="Frail", loader="mine:frail", uses_model=False)
"""


def closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def config(tmp_path: Path, trainers: str, more: str = "") -> None:
    (tmp_path / "c.yaml").write_text(
        f"mode: real\ntasks: [internal:numeric_param]\ntrainers: {trainers}\nseeds: 1..4\nrun_id: one\nmax_workers: 2\n"
        f"llm: {{model: openai/none, base_url: 'http://127.0.0.1:{closed_port()}/v1', api_key_env: SOME_KEY, max_retries: 0}}\n{more}"
    )


def test_nothing_is_said_of_a_trainer_whose_model_never_answered(cli: Cli, tmp_path: Path) -> None:
    config(tmp_path, "[BestOfN, RandomSearch, NoOp]", "budget: {evaluations: 20}\n")
    nothing = "; nothing can be said about BestOfN: all its 4 jobs failed."
    cause = "(internal:numeric_param, seed 1) ended as `failed`: NoModelAnswered: none of"

    run = cli("run", "--config", "c.yaml", env=CORE_ONLY)
    shown, compared = cli("show", "one", env=CORE_ONLY), cli("compare", "one", env=CORE_ONLY)
    cut = cli("compare", "one", "--at", "10", env=CORE_ONLY)
    as_data = json.loads(cli("show", "one", "--json", env=CORE_ONLY).stdout)["verdict"]
    data = json.loads(cli("compare", "one", "--json", env=CORE_ONLY).stdout)
    assert cli("report", "one", "-o", "r.md", env=CORE_ONLY).returncode == 0
    report = re.sub(r"\\(\W)", r"\1", (tmp_path / "r.md").read_text())  # signs of Markdown are escaped there

    assert run.returncode == 1
    for said in (
        run.stderr,
        shown.stderr,
        compared.stdout,
        cut.stdout,
        as_data["sentence"] + "\n",
        data["verdict"] + "\n",
    ):
        assert nothing in said
        assert "BestOfN leads" not in said
    assert nothing in report
    for said in (
        run.stderr,
        shown.stderr,
        compared.stderr,
        cut.stderr,
        *as_data["remarks"][:1],
        *data["remarks"][:1],
        report,
    ):
        assert cause in said
        assert "scored alike" not in said
    hint = "hint: trace-bench resume runs/one --failed"
    assert all(hint in said for said in (shown.stderr, compared.stderr, *as_data["hints"]))
    assert as_data["without_scores"] == ["BestOfN"]
    assert {(p["one"], p["other"]) for p in data["pairs"]} == {("RandomSearch", "NoOp")}
    (row,) = [entry for entry in data["leaderboard"] if entry["entrant"] == "BestOfN"]
    assert (row["mean"], row["counted"], row["measured"], row["jobs"], row["failed"]) == (None, 0, 0, 4, 4)
    assert [s["mean"] for s in data["tasks"][0]["standings"] if s["entrant"] == "BestOfN"] == [None]

    gate = cli("compare", "one", "--gate", "NoOp > BestOfN", env=CORE_ONLY)
    assert gate.returncode == 4
    assert "Gate not met: NoOp > BestOfN." in gate.stderr
    against = cli("compare", "one", "--baseline", "BestOfN", env=CORE_ONLY)
    floor = cli("compare", "one", "--baseline", "NoOp", env=CORE_ONLY)
    assert against.returncode == floor.returncode == 0, floor.stderr
    assert "Against NoOp: RandomSearch is" in floor.stdout
    assert nothing in floor.stdout
    assert "Nothing to compare: the baseline BestOfN has no score; nothing can be said" in against.stdout


@HEAVY
def test_nobody_with_a_score_is_nothing_to_compare(cli: Cli, tmp_path: Path) -> None:
    config(tmp_path, "[BestOfN, SequentialRefine]")
    run = cli("run", "--config", "c.yaml", "-o", "seeds=1..2", env=CORE_ONLY)
    shown, compared = cli("show", "one", env=CORE_ONLY), cli("compare", "one", env=CORE_ONLY)

    for said in (run.stderr, shown.stderr, compared.stdout):
        assert "Nothing to compare, for nobody has a score: all 4 jobs failed." in said
    assert "not resolved" not in compared.stdout


@pytest.fixture
def env(plugin_path: Install, tmp_path: Path) -> dict[str, str]:
    site = plugin_path("mine", TRAINERS, group="tracebench", entry="mine", target="mine")
    return {**CORE_ONLY, **site, "TRACEBENCH_PLUGINS": "mine", "GO": str(tmp_path / "go"), "FAILS": "2 3"}


def test_failed_seeds_are_told_in_the_verdict_and_pairs_that_were_measured_are_counted(
    cli: Cli, tmp_path: Path, env: dict[str, str]
) -> None:
    config(tmp_path, "[Frail, NoOp]")
    run = cli("run", "--config", "c.yaml", env=env)
    data = json.loads(cli("compare", "one", "--json", env=env).stdout)

    said = "2 of 4 jobs of Frail ended without a score, each of which counts as its task's initial score."
    assert said in run.stderr
    assert (
        "nothing tells Frail and NoOp apart" in data["verdict"]
        or "nothing tells NoOp and Frail apart" in data["verdict"]
    )
    assert data["verdict"].endswith(f"; {said}")
    assert "of 4 pairs of a seed 2 were measured on both sides" in run.stderr
    assert "ValueError: no luck with 2" in run.stderr
    assert "scored alike" not in run.stderr
    assert [(p["pairs"], p["pairs_measured"]) for p in data["pairs"]] == [(4, 2)]
    left_out = json.loads(cli("compare", "one", "--failures", "exclude", "--json", env=env).stdout)
    assert [(p["pairs"], p["pairs_measured"], p["unpaired"]) for p in left_out["pairs"]] == [(2, 2, 2)]
    assert "each of which counts for nothing." in left_out["verdict"]


@HEAVY
def test_the_hint_of_a_trainer_that_failed_brings_its_scores(cli: Cli, tmp_path: Path, env: dict[str, str]) -> None:
    config(tmp_path, "[Frail, NoOp]")
    env |= {"FAILS": "1 2 3 4"}
    run = cli("run", "--config", "c.yaml", env=env)
    compared = cli("compare", "one", env=env)
    assert (
        "Nothing to compare: NoOp alone has scores; nothing can be said about Frail: all its 4 jobs failed."
        in run.stderr
    )

    Path(env["GO"]).touch()
    (hint,) = [line for line in compared.stderr.splitlines() if line.startswith("hint: trace-bench ")]
    typed = cli(*shlex.split(hint.removeprefix("hint: trace-bench ").partition("   (")[0]), env=env)
    assert typed.returncode == 0, typed.stderr
    assert "nothing can be said" not in typed.stderr
    assert "Frail and NoOp scored alike" in typed.stderr or "NoOp and Frail scored alike" in typed.stderr


@HEAVY
def test_jobs_that_were_never_run_are_no_scores(cli: Cli, tmp_path: Path) -> None:
    config(tmp_path, "[RandomSearch, SequentialRefine]", "budget: {evaluations: 20}\nrun_budget: {evaluations: 60}\n")
    run = cli("run", "--config", "c.yaml", env=CORE_ONLY)
    assert run.returncode == 5, run.stderr
    assert "; nothing can be said about SequentialRefine: none of its 4 jobs has a score (4 not run)." in run.stderr
    assert "nothing can be said about SequentialRefine" in cli("show", "one", env=CORE_ONLY).stderr
