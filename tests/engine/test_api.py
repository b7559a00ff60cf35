from __future__ import annotations

import io
from pathlib import Path

import pytest

import tracebench_core
from tracebench_core.errors import RunDirError, UsageError
from tracebench_engine import api
from tracebench_engine.config import parse_config


def test_every_public_name_can_be_had() -> None:
    assert {"RunConfig", "evaluate_task", "hookimpl", "load_config", "load_run", "plan", "resume", "run"} <= set(
        tracebench_core.__all__
    )
    for name in tracebench_core.__all__:
        assert getattr(tracebench_core, name) is not None
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        _ = tracebench_core.nothing


def test_a_task_is_evaluated_without_a_trainer() -> None:
    (feedback,) = api.evaluate_task("internal:numeric_param", {"x": 2.5})

    assert feedback.score == -0.5
    assert "too low" in feedback.text


def test_candidate_code_is_evaluated_in_its_sandbox() -> None:
    right = "def transform(x):\n    return 2 * x + 1\n"
    quits = "import os\ndef transform(x):\n    os._exit(0)\n"

    assert {f.score for f in api.evaluate_task("internal:code_param", {"code": right}, split="test")} == {1.0}
    assert {f.status for f in api.evaluate_task("internal:code_param", {"code": quits})} == {"invalid"}


def test_values_that_may_not_be_evaluated_are_told() -> None:
    (feedback,) = api.evaluate_task("internal:numeric_param", {"x": 1000})

    assert (feedback.status, "at most 100" in feedback.text) == ("invalid", True)


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean `internal:numeric_param`"):
        api.evaluate_task("internal:numeric_parm")


def test_limit_keeps_the_first_jobs_of_the_plan(tmp_path: Path) -> None:
    config = parse_config(
        {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": [1, 2, 3], "runs_dir": str(tmp_path)}
    )
    summary = api.run(config, limit=2, stream=io.StringIO())

    assert summary.counts == {"ok": 2}
    assert [j.job_id for j in api.load_run(summary.run_dir).planned] == [j.job_id for j in api.plan(config).jobs[:2]]


def test_two_runs_in_one_second_have_two_directories(tmp_path: Path) -> None:
    config = parse_config({"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "runs_dir": str(tmp_path)})

    folders = {api.run(config, stream=io.StringIO()).run_dir for _ in range(3)}

    assert len(folders) == 3


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirError):
        api.resume(tmp_path)
    with pytest.raises(RunDirError):
        api.load_run(tmp_path / "nowhere")
