"""The law of values: whatever enters a run, every reader gives a right answer or a named failure, and other jobs go on."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.any_value import PLUGIN, RIGHT, VALUES, kept, measure, read_by_all, table, written
from tests.warm import trace_bench
from tests.whole import HEAVY

from tracebench_core.averages import LARGEST, mean, total, variance
from tracebench_core.specs.events import EvaluationDone
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run


@HEAVY  # it costs three seconds; what a reader does with one value is in tests of its own
def test_every_value_is_measured_or_named_and_read_by_everything(
    install_plugin: Callable[..., None], tmp_path: Path
) -> None:
    install_plugin("values", PLUGIN)
    measured = measure(tmp_path / "runs")
    run = api.load_run(measured)
    assert [(r.trainer_id, r.error) for r in run.results.values() if r.status != "ok"] == []
    for job_id, result in run.results.items():
        assert all(abs(score) <= LARGEST for score in (result.score_test, result.score_val_best) if score is not None)
        if result.trainer_id == "Tries":
            seen: dict[str, set[str]] = {}
            for event in run.events(job_id):
                if isinstance(event, EvaluationDone) and event.split == "train":
                    seen.setdefault(event.candidate, set()).add(event.status)
            for number, name in enumerate(VALUES, start=1):
                assert seen[f"c{number}"] == {"ok" if name in RIGHT else "invalid"}, name
    out = tmp_path / "out"
    out.mkdir()
    answers = [*read_by_all(measured, out)]
    assert [(answer.reader, answer.code, answer.said) for answer in answers if answer.is_wrong] == []
    assert check_run(measured) == []
    there = [
        answer._replace(code=0, is_missing=False) for answer in answers
    ]  # where the page was written, nothing was missing
    page = written().splitlines()
    told = table(kept(measured), there).splitlines()
    assert [line for line in told if line not in page] == []
    assert {*page} - {*told} == {"| viewer | 6 | 6 |", "| published site | 1 | 1 |"}  # its own tests hold these


def test_a_job_whose_files_make_no_result_fails_alone(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    config = {"tasks": ["values:quits", "values:any"], "trainers": ["Tries"], "runs_dir": str(tmp_path / "runs")}
    summary = api.run(parse_config(config), stream=io.StringIO())
    run = api.load_run(summary.run_dir)
    broken, sound = run.results.values()
    assert (summary.exit_code, broken.status, sound.status) == (1, "failed", "ok")
    assert broken.error is not None
    assert "cannot be made a result" in broken.error.message
    assert broken.used.evaluations > 2 * len(VALUES)
    assert check_run(summary.run_dir) == []


def test_huge_scores_in_a_log_keep_no_run_from_going_on(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    config = {"tasks": ["values:any"], "trainers": ["Forges", "NoOp"], "runs_dir": str(tmp_path / "runs")}
    summary = api.run(parse_config(config), stream=io.StringIO())
    forged, sound = api.load_run(summary.run_dir).results.values()
    assert (forged.status, sound.status) == ("failed", "ok")
    assert forged.error is not None
    assert "exit code 7" in forged.error.message
    for command in ("fsck", "resume", "show"):
        done = trace_bench(command, str(summary.run_dir), folder=tmp_path, environ=dict(os.environ))
        assert done.returncode in {0, 1}, (command, done.stdout + done.stderr)
        assert "Traceback" not in done.stderr


def test_averages_hold_for_any_floats() -> None:
    big = sys.float_info.max
    assert mean([big, big]) == big
    assert mean([big, big, -big]) == pytest.approx(big / 3)
    assert total([big, big, -big]) == big
    assert total([big, big]) == math.inf
    assert math.isnan(mean([math.inf, -math.inf]))
    assert variance([big, -big]) == math.inf
    assert mean([0.1] * 10) == math.fsum([0.1] * 10) / 10
