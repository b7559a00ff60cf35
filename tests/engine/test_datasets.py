"""A task's data set is opened once for all jobs of a run, by a process that no job can take down with it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core.errors import PluginError
from tracebench_engine import api
from tracebench_engine.config import parse_config

PLUGIN = """
import json, os, pathlib, time
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

DIARY = pathlib.Path(os.environ["DIARY"])

class Rows:
    def __init__(self, *, rows, how): self.rows, self.how = rows, how
    def open(self, context):
        with DIARY.open("a") as diary: diary.write(f"open {self.rows} {self.how}\\n")
        if self.how == "hangs": time.sleep(600)
        if self.how == "raises": raise OSError("the disk is gone")
        for split in ("train", "test"):
            rows = [{"id": f"{split}{i}", "input": i} for i in range(self.rows)]
            (context.workdir / f"{split}.json").write_text(json.dumps(rows))
        return str(context.workdir)
    def close(self):
        with DIARY.open("a") as diary: diary.write("close\\n")

class Options(BaseModel):
    rows: int = 2
    how: str = "well"
    shift: float = 0.0

class Task:
    objective = "up"
    parameters = [Parameter(name="x", initial=1.0, kind="number")]
    def __init__(self, dataset, splits, shift):
        self.shift = shift
        self.splits = {s: [Example(**r) for r in json.loads(pathlib.Path(dataset, f"{s}.json").read_text())]
                       for s in ("train", "test") if s in splits}
    def run(self, values, example, context): return values["x"] + example.input + self.shift
    def guide(self, example, output, context): return Feedback(score=output)

def build(*, rows, how, shift, dataset, splits): return Task(dataset, splits, shift)

@hookimpl
def tracebench_environments():
    return [EnvironmentSpec(name="rows", kind="dataset", scope="run", loader="fake_shelf:Rows",
                            options={"rows": 2, "how": "well"}),
            EnvironmentSpec(name="brief", kind="dataset", scope="job", loader="fake_shelf:Rows")]

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader="fake_shelf:build", title=n, options="fake_shelf:Options", dataset=d)
            for n, d in (("sum", "rows"), ("wrong", "brief"))]
"""


@pytest.fixture
def diary(install_plugin: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the plugin; its data set says there what is done with it."""
    path = tmp_path / "diary"
    monkeypatch.setenv("DIARY", str(path))
    install_plugin("shelf", PLUGIN)
    return path


def run(
    tmp_path: Path, *tasks: dict[str, object], seeds: int = 1, extend: bool = False, **settings: object
) -> api.RunSummary:
    mapping = {
        "tasks": [{"id": "shelf:sum", "eval_kwargs": options} for options in tasks],
        "trainers": [{"id": "NoOp"}],
        "seeds": list(range(seeds)),
        "runs_dir": str(tmp_path / "runs"),
        "run_id": "r",
        "max_workers": 2,
    }
    return api.run(parse_config(mapping | settings), extend=extend, stream=io.StringIO())


def test_eight_jobs_open_their_data_set_once_and_so_does_a_run_that_goes_on(diary: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, {"rows": 3}, seeds=8)

    results = api.load_run(summary.run_dir).results.values()
    assert [(r.status, r.score_val_best, r.score_test) for r in results] == [("ok", 2.0, 2.0)] * 8
    assert diary.read_text().splitlines() == ["open 3 well", "close"]

    run(tmp_path, {"rows": 3}, seeds=9, extend=True)
    assert diary.read_text().splitlines() == ["open 3 well", "close"] * 2


def test_options_of_the_task_alone_do_not_open_it_again(diary: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, {"shift": 0.0}, {"shift": 5.0}, {"rows": 4})

    assert sorted(r.score_val_best or 0 for r in api.load_run(summary.run_dir).results.values()) == [1.5, 2.5, 6.5]
    assert sorted(diary.read_text().splitlines()) == ["close", "close", "open 2 well", "open 4 well"]


def test_one_that_hangs_or_raises_costs_the_jobs_of_its_task_alone(diary: Path, tmp_path: Path) -> None:
    summary = run(tmp_path, {"how": "hangs"}, {"how": "raises"}, {}, seeds=2, job_timeout=6)

    results = api.load_run(summary.run_dir).results.values()
    by_status = sorted((r.status, r.error.type if r.error else "") for r in results)
    assert by_status == [("failed", "NotMeasured")] * 2 + [("ok", "")] * 2 + [("timeout", "")] * 2
    assert any("OSError: the disk is gone" in r.feedback for r in results)


def test_a_task_is_evaluated_with_its_data_set_without_a_run(diary: Path) -> None:
    assert [f.score for f in api.evaluate_task("shelf:sum", {"x": 2.0})] == [2.0, 3.0]
    assert diary.read_text().splitlines() == ["open 2 well", "close"]


def test_no_plan_opens_a_data_set(diary: Path, tmp_path: Path) -> None:
    forecast = api.estimate(
        parse_config({"tasks": ["shelf:sum"], "trainers": ["NoOp"], "runs_dir": str(tmp_path)}), root=None
    )

    assert forecast.unknown == (
        "`shelf:sum` declares no sizes for these options, and no plan opens its data set `rows`",
    )
    assert not diary.exists()


def test_a_data_set_that_does_not_live_as_long_as_the_run_is_refused(diary: Path) -> None:
    with pytest.raises(PluginError, match="no environment of scope `run`"):
        api.evaluate_task("shelf:wrong", {})
