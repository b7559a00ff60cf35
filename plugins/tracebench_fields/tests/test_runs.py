"""The fields, the scripted model and the command as a user meets them."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.warm import trace_bench
from tests.whole import HEAVY, cells

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_fields.drawing import Drawing, draw
from tracebench_fields.releases import FOLDER
from tracebench_fields.task import build, sizes_of
from tracebench_runs.reading.compare import differences


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return trace_bench("fields", *arguments, folder=Path.cwd(), environ=os.environ)


@pytest.mark.parametrize(
    ("family", "proposer"),
    cells([("code", "Reflective"), ("numbers", "OptoPrime"), ("routes", "OPRO")], always=[("numbers", "OptoPrime")]),
)
def test_a_run_with_the_scripted_model_rises_and_is_metered(proposer: str, family: str, tmp_path: Path) -> None:
    config = {
        "mode": "real",
        "runs_dir": str(tmp_path),
        "seeds": [1],
        "budget": {"llm_calls": 15},
        "llm": {"model": "fields/p60-h20-r5"},
        "tasks": [
            {
                "id": f"fields:{family}",
                "eval_kwargs": {"size": "small", "num_train": 10, "num_validate": 10, "num_test": 20},
            }
        ],
        "trainers": [{"id": "SequentialRefine", "optimizer": proposer}, "NoOp"],
    }
    summary = api.run(parse_config(config), stream=io.StringIO())
    assert summary.counts == {"ok": 2}
    results = {r.trainer_id: r for r in api.load_run(summary.run_dir).results.values()}
    assert results["SequentialRefine"].score_val_best > results["NoOp"].score_val_best  # type: ignore[operator]
    assert 0 < results["SequentialRefine"].used.llm_calls <= 15
    assert results["NoOp"].used.llm_calls == 0


def test_the_command_commits_once_verifies_and_shows_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "s"))
    done = command("commit", "autumn", "--to", str(tmp_path / "s"))
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["autumn"]["commitment"]) == 64
    assert (tmp_path / "s/autumn.secret").stat().st_mode & 0o777 == 0o600
    again = command("commit", "autumn", "--to", str(tmp_path / "s"))
    assert (again.returncode, "never drawn twice" in again.stderr) == (2, True)
    unpublished = command("verify", "autumn")
    assert (unpublished.returncode, "not committed to" in unpublished.stderr) == (2, True)

    best = command("optimum", "valley", "--release", "autumn")
    assert json.loads(best.stdout) == draw(Drawing("valley", "autumn", 0, "medium", 0.25)).optimum
    assert "Did you mean `valley`?" in command("optimum", "vally").stderr


@pytest.mark.parametrize("family", ["prompt", "numbers", "agents"])
def test_a_plan_knows_how_large_a_field_is_without_opening_it(family: str, tmp_path: Path) -> None:
    options = {"size": "small", "num_train": 7, "num_validate": 0, "num_test": 3}
    config = parse_config(
        {"tasks": [{"id": f"fields:{family}", "eval_kwargs": options}], "trainers": ["NoOp"], "runs_dir": str(tmp_path)}
    )

    forecast = api.estimate(config)

    sizes = sizes_of(family, options)
    opened = build(family, **options)
    assert forecast.unknown == ()
    assert (sizes.train, sizes.validation, sizes.test) == tuple(
        len(opened.splits.get(split, ())) for split in ("train", "validation", "test")
    )
    assert sizes.parameters == len(opened.parameters)


def test_what_a_job_is_answered_does_not_depend_on_the_jobs_before_it(tmp_path: Path) -> None:
    def best(run_id: str, *trainers: str) -> dict[str, object]:
        config = {
            "run_id": run_id,
            "mode": "real",
            "runs_dir": str(tmp_path),
            "seeds": [1, 2],
            "budget": {"llm_calls": 4},
            "llm": {"model": "fields/p60-h20-r5"},
            "tasks": [{"id": "fields:numbers", "eval_kwargs": {"size": "small", "num_train": 5, "num_validate": 5}}],
            "trainers": [*trainers],
        }
        summary = api.run(parse_config(config), stream=io.StringIO())
        found = [r for r in api.load_run(summary.run_dir).results.values() if r.trainer_id == "BestOfN"]
        return {f"BestOfN {r.seed}": (r.score_val_best, r.used.tokens) for r in found}

    alone = best("alone", "BestOfN")
    assert alone["BestOfN 1"] != alone["BestOfN 2"]
    assert best("among", "SequentialRefine", "BestOfN") == alone  # which asks the same first


@HEAVY
def test_a_run_that_is_repeated_ends_alike_though_its_calls_run_side_by_side(tmp_path: Path) -> None:
    config = {
        "mode": "real",
        "seeds": [3, 4],
        "budget": {"evaluations": 300},
        "llm": {"model": "fields/p35-h45-r5"},
        "tasks": ["fields:prompt"],
        "trainers": ["PrioritySearch"],
    }
    runs = [
        api.run(parse_config({**config, "runs_dir": str(tmp_path), "max_workers": n}), stream=io.StringIO())
        for n in (1, 2, 2)
    ]
    one, *others = [api.load_run(summary.run_dir) for summary in runs]
    for other in others:
        assert [*differences(one, other)] == []
