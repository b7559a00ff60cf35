"""Every page as a script: what it says of real runs, of none, and of broken ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tracebench_engine.api import load_run
from tracebench_engine.api.records import RunLayout
from tracebench_engine.api.rundirs.control import workers_of
from tracebench_viewer.settings import VARIABLE

pytestmark = [
    pytest.mark.heavy("viewer"),
    pytest.mark.skipif(
        find_spec("streamlit") is None, reason="Streamlit is not installed: pip install 'tracebench-engine[ui]'"
    ),
    pytest.mark.filterwarnings("ignore"),  # Streamlit's own
]
MAIN = Path(__file__).parents[1] / "src" / "tracebench_viewer" / "main.py"
PAGES = ("runs", "run", "job", "compare", "failures", "launch", "installed")


def opened(
    runs_dir: Path, page: str = "runs", *, read_only: bool = False, monkeypatch: pytest.MonkeyPatch, **asked: str
) -> Any:
    from streamlit.testing.v1 import AppTest

    settings = {"runs_dir": str(runs_dir), "read_only": read_only, "configs_dir": "configs"}
    monkeypatch.setenv(VARIABLE, json.dumps(settings))
    app = AppTest.from_file(str(MAIN), default_timeout=120)
    for name, value in asked.items():
        app.query_params[name] = value
    app.run()
    if page != "runs":
        app.switch_page(f"screens/{page}.py")
        for name, value in asked.items():
            app.query_params[name] = value
        app.run()
    assert not app.exception, app.exception
    return app


def texts(app: Any) -> str:
    kinds = ("title", "caption", "info", "error", "warning", "code", "subheader", "markdown")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind)).replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_on_a_folder_without_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "runs").mkdir()
    app = opened(tmp_path / "runs", page, monkeypatch=monkeypatch)
    if page in {"runs", "run", "job"}:
        assert "trace-bench run" in texts(app)


def test_the_list_shows_what_the_run_is(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(runs_dir, monkeypatch=monkeypatch)
    (row,) = app.dataframe[0].value.to_dict("records")
    assert (row["run"], row["jobs"], row["failed"], row["tags"]) == ("first", 4, 2, "small")
    app.text_input(key="filter-text").set_value("nothing like it").run()
    assert "No run is what the filters ask for" in texts(app)


def test_a_run_shows_its_jobs_and_its_config(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(runs_dir, "run", monkeypatch=monkeypatch, run="first")
    jobs = app.dataframe[0].value.to_dict("records")
    results = load_run(runs_dir / "first").results
    assert [job["job"] for job in jobs] == [*results]
    assert [job["best"] for job in jobs if job["best"] == job["best"]] == [
        r.score_val_best for r in results.values() if r.status == "ok"
    ]
    app.session_state["tab"] = "Config"
    app.run()
    assert "run_id: first" in texts(app)


@pytest.mark.parametrize("page", ["run", "job", "compare"])
def test_an_unknown_run_is_told_with_a_list_and_nothing_to_steer(
    page: str, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"runs": "nope"} if page == "compare" else {"run": "nope"}
    app = opened(runs_dir, page, monkeypatch=monkeypatch, **asked)
    assert "There is no run nope" in texts(app).replace("`", "")
    assert list(app.dataframe[0].value["run"]) == ["first"]
    assert not app.button
    assert not app.selectbox
    assert dict(app.query_params) in (asked, {name: [value] for name, value in asked.items()})


def test_an_unknown_job_candidate_or_tab_is_told(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(runs_dir, "job", monkeypatch=monkeypatch, run="first", job="nope")
    assert "Run first has no job nope" in texts(app).replace("`", "")
    assert set(app.dataframe[0].value["job_id"]) == {*load_run(runs_dir / "first").results}
    job = next(job for job in load_run(runs_dir / "first").results.values() if job.status == "ok")
    app = opened(runs_dir, "job", monkeypatch=monkeypatch, run="first", job=job.job_id, candidate="nope", tab="what")
    said = texts(app).replace("`", "")
    assert "There is no candidate nope in this job" in said
    assert "There is no tab what here" in said


def test_a_job_that_failed_begins_with_its_error(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = next(job for job in load_run(runs_dir / "first").results.values() if job.status == "failed")
    app = opened(runs_dir, "job", monkeypatch=monkeypatch, run="first", job=job.job_id)
    kinds = [type(element).__name__ for element in app.main]
    assert kinds.index("Error") < kinds.index("Metric")


def test_a_job_shows_candidates_calls_and_its_best(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_run(runs_dir / "first")
    job = next(job for job in run.results.values() if job.status == "ok")
    app = opened(runs_dir, "job", monkeypatch=monkeypatch, run="first", job=job.job_id)
    tables = [frame.value for frame in app.dataframe]
    candidates = next(table for table in tables if "verdict" in table.columns)
    assert job.best_candidate in set(candidates["candidate"])
    assert str(job.best_candidate) in texts(app)
    app.session_state["part"] = "Model calls"
    app.run()
    tables = [frame.value for frame in app.dataframe]
    calls = next(table for table in tables if "role" in table.columns and "phase" in table.columns)
    assert len(calls) == job.used.llm_calls


def test_a_job_that_failed_shows_why_and_how_to_repeat_it(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = next(job for job in load_run(runs_dir / "first").results.values() if job.status == "failed")
    app = opened(runs_dir, "job", monkeypatch=monkeypatch, run="first", job=job.job_id)
    assert "no trainable" in texts(app)
    assert f"--failed --error-type {job.error.type if job.error else ''}" in texts(app)


def test_a_comparison_says_what_the_command_says(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracebench_analysis.comparison.comparison import compare_runs
    from tracebench_analysis.comparison.sentences import verdict_sentence

    app = opened(runs_dir, "compare", monkeypatch=monkeypatch, runs="first")
    assert verdict_sentence(compare_runs([load_run(runs_dir / "first")])) in texts(app)


def test_runs_that_may_not_be_pooled_are_refused_in_words(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "other")
    manifest = runs_dir / "other" / "meta" / "manifest.json"
    manifest.write_text(
        manifest.read_text().replace('"comparability": 1', '"comparability": 2').replace('"first"', '"other"')
    )
    layout = RunLayout(runs_dir / "other")
    for witness in (*layout.journals(), layout.mirror, layout.files_index):  # as a run of a version that kept none
        witness.unlink()
    app = opened(runs_dir, "compare", monkeypatch=monkeypatch, runs="first,other")
    assert "cannot be pooled" in texts(app)


def test_failures_come_with_the_command_for_all_of_them(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(runs_dir, "failures", monkeypatch=monkeypatch)
    assert list(app.dataframe[0].value["jobs"]) == [2]
    app.session_state["failures"] = {"selection": {"rows": [], "columns": [], "cells": [[0, "error"]]}}
    app.run()
    assert f"trace-bench resume {runs_dir / 'first'} --failed" in texts(app)


@pytest.mark.parametrize(
    ("what", "asked"), [("no run", {"run": "../../etc"}), ("no job", {"run": "first", "job": "../x"})]
)
def test_addresses_that_name_nothing_are_told(
    what: str, asked: dict[str, str], runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert what in texts(opened(runs_dir, "job", monkeypatch=monkeypatch, **asked))


def test_a_torn_run_costs_nothing_but_itself(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "torn")
    manifest = runs_dir / "torn" / "meta" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:200])
    app = opened(runs_dir, monkeypatch=monkeypatch)
    assert set(app.dataframe[0].value["run"]) == {"first", "torn"}
    assert "fsck" in texts(opened(runs_dir, "run", monkeypatch=monkeypatch, run="torn"))


def test_a_read_only_viewer_offers_nothing_to_steer(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--read-only" in texts(opened(runs_dir, "launch", read_only=True, monkeypatch=monkeypatch))
    steerable = opened(runs_dir, "run", monkeypatch=monkeypatch, run="first")
    assert any(button.key == "continue" for button in steerable.button)
    app = opened(runs_dir, "run", read_only=True, monkeypatch=monkeypatch, run="first")
    assert not app.button


def test_a_view_that_fails_costs_its_own_place(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracebench_core.plugins import Catalog
    from tracebench_core.specs import ViewSpec
    from tracebench_viewer import views

    catalog = Catalog()
    for name, kind in (("broken", "chart"), ("counted", "columns"), ("drawn", "picture"), ("silent", "page")):
        loader = f"plugins.tracebench_viewer.tests.sample_views:{name}"
        catalog.components["view"][name] = ViewSpec(name=name, kind=kind, title=name, loader=loader)
        catalog.origin["view", name] = "a_plugin"
    monkeypatch.setattr(views, "catalog", lambda: catalog)
    app = opened(runs_dir, "run", monkeypatch=monkeypatch, run="first")
    said = texts(app)
    assert "broken of a_plugin failed: RuntimeError: on purpose" in said.replace("`", "")
    assert "counted" in said
    assert "silent" not in said


WAITING = """
import time
from pathlib import Path
class Waits:
    def __init__(self, settings): ...
    def train(self, problem):
        problem.evaluate(problem.initial)
        while not (Path(__file__).parent / "go").exists(): time.sleep(0.02)
"""


@pytest.mark.skipif(find_spec("tracebench_workers") is None, reason="the plugin `tracebench-workers` is not installed")
def test_a_run_under_way_shows_its_workers_and_what_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "slow.py").write_text(WAITING)
    config = {
        "run_id": "far", "tasks": ["internal:numeric_param"], "trainers": ["./slow.py:Waits"], "executor": "workers",
        "plugins": {"options": {"workers": {"listen": "127.0.0.1:0", "start": 1}}},
    }  # fmt: skip
    (tmp_path / "far.yaml").write_text(json.dumps(config))
    command = [str(Path(sys.executable).with_name("trace-bench")), "run", "--config", "far.yaml"]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log) as run:
        try:
            until = time.monotonic() + 120
            while not any(w.jobs for w in workers_of(tmp_path / "runs" / "far")):
                assert run.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < until, (tmp_path / "log").read_text()
                time.sleep(0.1)
            app = opened(tmp_path / "runs", "run", monkeypatch=monkeypatch, run="far")
            (row,) = next(d.value for d in app.dataframe if "worker" in d.value).to_dict("records")
            (job_id,) = (job.name for job in (tmp_path / "runs" / "far" / "jobs").iterdir())
            assert (row["running"], row["jobs"], row["reached"]) == ("1 of 1", job_id, "yes")
            assert row["on"]
        finally:
            (tmp_path / "go").touch()
    assert run.returncode == 0, (tmp_path / "log").read_text()
