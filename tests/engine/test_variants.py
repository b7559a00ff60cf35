"""Several models in one run: each job asks its own, at its own settings, and every table tells them apart."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.pooling import pooling_findings
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.run.replay import replay_of
from tracebench_runs.reading.compare import differences
from tracebench_runs.reading.reader import load_run
from tracebench_testing.fake_openai import FakeOpenAI

PRICE = {"prompt": 2.0, "completion": 8.0}


def answer(_: list[dict[str, Any]]) -> str:
    return json.dumps({"reasoning": "closer", "values": {"x": 2.5}})


def run(tmp_path: Path, server: FakeOpenAI, **config: Any) -> Path:
    llm = {"base_url": server.base_url, "prices": {"small": PRICE, "large": PRICE}} | config.pop("llm", {})
    trainers = [{"id": "BestOfN", "params": {"n": 2}}]
    document = {"mode": "real", "tasks": ["internal:numeric_param"], "trainers": trainers, "llm": llm}
    return api.run(parse_config({**document, "runs_dir": str(tmp_path), **config}), stream=io.StringIO()).run_dir


def test_each_job_asks_the_models_of_its_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMALL_KEY", "sk-small-0123456789")
    variants = [
        {"model": "small", "temperature": 0.1, "api_key_env": "SMALL_KEY"},
        {"name": "big", "model": "large", "max_tokens": 77, "extra_body": {"top_k": 5}},
    ]
    with FakeOpenAI(reply=answer) as server:
        path = run(tmp_path, server, llm_variants=variants, budget={"usd": 1.0})
        asked = {(r["model"], r.get("temperature"), r.get("max_tokens"), r.get("top_k")) for r in server.log.requests}
        keys = server.log.keys
    assert {a[:2] for a in asked} == {("small", 0.1), ("large", None)}
    assert {a[3] for a in asked if a[0] == "large"} == {5}
    assert all(a[2] == 77 for a in asked if a[0] == "large")
    assert any("sk-small-0123456789" in key for key in keys)
    found = compare_runs([load_run(path)])
    assert sorted(found.outcomes.entrants) == ["BestOfN (large [big])", "BestOfN (small [small, temperature=0.1])"]
    board = [*csv.DictReader((path / "leaderboard.csv").read_text().splitlines())]
    assert {row["llm_variant"] for row in board} == {"small, temperature=0.1", "big"}
    assert all(float(row["used_llm_calls"]) >= 2 and int(row["proposals_asked"]) >= 2 for row in board)
    rows = [*csv.DictReader((path / "results.csv").read_text().splitlines())]
    assert {(row["llm_model"], row["llm_variant"]) for row in rows} == {
        ("small", "small, temperature=0.1"),
        ("large", "big"),
    }


def test_what_pooling_reads_is_what_runs_write(tmp_path: Path) -> None:
    with FakeOpenAI(reply=answer) as server:
        one = run(tmp_path, server, llm={"model": "small"}, run_id="one")
        dear = {"small": {"prompt": 9.0, "completion": 9.0}}
        other = run(tmp_path, server, llm={"model": "small", "prices": dear}, run_id="other")
        large = run(tmp_path, server, llm={"model": "large"}, run_id="large")
    runs = [load_run(path) for path in (one, other, large)]
    head = runs[0].manifest
    assert head["prices"] == {"openai/small": PRICE}
    assert head["sandbox"] == ""
    task = head["tasks"]["internal:numeric_param"]
    assert {"comparability", "source", "target", "aggregate"} <= task.keys()
    told = {f.field: f.forbids for f in pooling_findings(runs[:2])}
    assert told == {"prices": False}
    assert [f.field for f in pooling_findings(runs[:2], axis="usd") if f.forbids] == ["prices"]
    assert "model" in {f.field for f in pooling_findings([runs[0], runs[2]])}


def test_a_replay_answers_each_job_as_the_job_that_it_repeats_was_answered(tmp_path: Path) -> None:
    """Two trainers that ask the very same with the same seed, and were answered differently."""
    count = iter(range(1000))

    def moody(_: list[dict[str, Any]]) -> str:
        return json.dumps({"reasoning": "mood", "values": {"x": next(count) / 7}})

    trainers = [{"id": name, "optimizer": "Reflective"} for name in ("BestOfN", "SequentialRefine")]
    with FakeOpenAI(reply=moody) as server:
        path = run(
            tmp_path, server, llm={"model": "small", "record": True}, trainers=trainers, seeds=[1, 2], max_workers=2
        )
    again = replay_of(path, runs_dir=str(tmp_path / "again"))
    replayed = api.run(again.config, limit=again.jobs, stream=io.StringIO()).run_dir
    assert [*differences(load_run(path), load_run(replayed))] == []


def test_variants_of_a_trainer_are_called_by_their_labels_and_keep_their_jobs(tmp_path: Path) -> None:
    def labelled(*labels: str) -> dict[str, Any]:
        trainers = [
            {"id": "RandomSearch", "label": label, "params": {"num_steps": n + 1}} for n, label in enumerate(labels)
        ]
        return {"tasks": ["internal:numeric_param"], "trainers": [*trainers, "NoOp"], "mode": "stub"}

    summary = api.run(
        parse_config({**labelled("quick", "slow"), "runs_dir": str(tmp_path)}), stream=(told := io.StringIO())
    )

    assert "internal:numeric_param x quick seed=" in told.getvalue()
    for name in ("leaderboard", "results"):
        rows = [*csv.DictReader((summary.run_dir / f"{name}.csv").read_text().splitlines())]
        assert {(row["trainer_id"], row["label"]) for row in rows} == {
            ("RandomSearch", "quick"), ("RandomSearch", "slow"), ("NoOp", ""),
        }  # fmt: skip
    found = load_run(summary.run_dir)
    assert sorted(compare_runs([found]).outcomes.entrants) == ["NoOp", "quick", "slow"]
    renamed = api.run(parse_config({**labelled("a", "b"), "runs_dir": str(tmp_path / "again")}), stream=io.StringIO())
    assert {*load_run(renamed.run_dir).results} == {*found.results}
