"""The law of values, read by the viewer: what its pages show of a job, and the published site."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.test_any_value import PLUGIN, RIGHT, VALUES

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_viewer.publishing.command import publish
from tracebench_viewer.reading import Reader


def test_every_value_is_shown_as_what_was_measured(install_plugin: Callable[..., None], tmp_path: Path) -> None:
    install_plugin("values", PLUGIN)
    config = {"tasks": ["values:any"], "trainers": ["NoOp", "Tries"], "runs_dir": str(tmp_path / "runs"), "run_id": "r"}
    run_dir = api.run(parse_config(config), stream=io.StringIO()).run_dir
    for job_id, result in api.load_run(run_dir).results.items():
        job = Reader(run_dir.parent).job("r", job_id)
        shown = {row["candidate"]: row["score"] for row in job.table()}
        job.curve("evaluations")
        if result.trainer_id == "Tries":
            for number, name in enumerate(VALUES, start=1):
                assert (shown[f"c{number}"] not in {None, -1.0}) == (name in RIGHT), name  # -1: the task's worst

    pytest.importorskip("altair", reason="altair draws the charts: pip install 'tracebench-engine[report]'")
    pytest.importorskip("vl_convert", reason="it holds the charts' script: pip install 'tracebench-engine[report]'")
    publish([str(run_dir)], out=tmp_path / "pages")
    assert len(list((tmp_path / "pages/runs/r/jobs").glob("*.html"))) == 2
