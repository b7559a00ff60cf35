"""A run with `llm.stub: answers`: it rises, is labelled in the record, and nothing compares it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_core.errors import UsageError
from tracebench_engine import api
from tracebench_engine.api.analysis import compare_runs
from tracebench_engine.config import parse_config

CONFIG = {
    "tasks": ["internal:code_param", "internal:numeric_param"],
    "trainers": [{"id": "SequentialRefine", "optimizer": "Reflective"}],
    "seeds": [1],
    "budget": {"evaluations": 60},
}


def run(folder: Path, **more: Any) -> Any:
    summary = api.run(parse_config({**CONFIG, **more, "runs_dir": str(folder)}), stream=io.StringIO())
    return api.load_run(summary.run_dir)


@HEAVY
def test_every_task_that_ships_answers_rises_and_the_run_is_no_comparison(tmp_path: Path) -> None:
    shown = run(tmp_path, llm={"stub": "answers"})

    for result in shown.results.values():
        assert result.status == "ok"
        assert result.score_val_best > result.score_val_initial
    assert {job.models["optimizer"].model for job in shown.planned} == {"stub-with-answers"}
    with pytest.raises(UsageError, match="demonstrates the tasks"):
        compare_runs([shown])

    other = run(tmp_path, llm={"stub": "mutate"})
    assert {job.job_id for job in shown.planned}.isdisjoint(job.job_id for job in other.planned)
    with pytest.raises(UsageError, match="stub-with-answers"):
        compare_runs([other, shown])


ONE_TASK = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TaskSpec

@hookimpl
def tracebench_tasks():
    loader = "tracebench_engine.builtin.tasks.numeric:build_one"
    return [TaskSpec(name="odd", title="Odd", loader=loader, metric="distance", answers="odd_answers:broken")]
"""


def test_answers_that_cannot_be_loaded_are_a_fault_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install_plugin: Any
) -> None:
    install_plugin("odd", ONE_TASK)
    shown = run(tmp_path, llm={"stub": "answers"}, tasks=["odd:odd"])

    (result,) = shown.results.values()
    assert result.status == "failed"
    assert "odd_answers" in str(result.error)
