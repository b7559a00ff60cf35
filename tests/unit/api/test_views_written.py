"""`show --views`: a file for each view of a run or job, what it holds, and what cannot be drawn or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.unit.analysis.runs import make_run
from typer.testing import CliRunner

from tracebench_core.errors import OutputError, UsageError
from tracebench_engine.cli.app import app

VIEWS = """
import math
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import ViewSpec

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1"/></svg>'

def columns(run, job): return {"x": [1, "a,b", None], "n": [0.5]}
def chart(run, job): return {"mark": "bar", "of": job}
def dated(run, job): return {"at": {1, 2}}
def endless(run, job): return {"at": math.nan}
def picture(run, job): return SVG
def image(run, job): return b"\\x89PNG"
def none(run, job): return None
def broken(run, job): raise KeyError("x")
def page(run, job): return print

KINDS = dict(columns="columns", chart="chart", dated="chart", endless="chart", picture="picture", image="picture", none="chart",
             broken="columns", page="page")
ALIKE = dict.fromkeys(("a/b", "a-b", "a-b-2"), "columns")

@hookimpl
def tracebench_views():
    return [ViewSpec(name=f"s/{n}", loader=f"fake_draws:{ALIKE.get(n, n)}", kind=k, title=n.title())
            for n, k in {**KINDS, **ALIKE}.items() if n in WANTED]
"""
Cli = Callable[..., Result]


@pytest.fixture
def show(install_plugin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return what shows the run `r` where a plugin offers some views."""
    made = make_run(tmp_path / "r", lambda *_: 1.0, trainers=["A"], tasks=["s:x"], seeds=[1])
    monkeypatch.setenv("TRACEBENCH_PLUGINS", "draws")
    monkeypatch.chdir(tmp_path)

    def show(wanted: str, *words: str) -> Result:
        install_plugin("draws", VIEWS.replace("WANTED", repr(wanted.split())))
        return CliRunner().invoke(app, ["show", *[str(made.planned[0].job_id) if w == "JOB" else w for w in words]])

    return show


def test_each_view_is_a_file_of_its_kind_and_what_has_nothing_to_show_is_none(show: Cli, tmp_path: Path) -> None:
    done = show("columns chart picture image none broken page", "r", "--views", "deep/out")
    assert done.exit_code == 0, done.output
    files = {path.name: path.read_bytes() for path in (tmp_path / "deep/out").iterdir()}
    assert sorted(files) == ["s-chart.vl.json", "s-columns.csv", "s-image.png", "s-picture.svg"]
    assert files["s-columns.csv"] == b'x,n\n1,0.5\n"a,b",\n,\n'
    assert json.loads(files["s-chart.vl.json"]) == {"mark": "bar", "of": None}
    assert files["s-image.png"] == b"\x89PNG"
    assert files["s-picture.svg"].startswith(b"<svg ")
    assert done.stdout.splitlines() == [
        "view\tfile",
        "s/broken\t`s/broken` of `draws` failed: KeyError: 'x'",
        "s/chart\tdeep/out/s-chart.vl.json",
        "s/columns\tdeep/out/s-columns.csv",
        "s/image\tdeep/out/s-image.png",
        "s/picture\tdeep/out/s-picture.svg",
    ]


def test_two_views_whose_names_make_one_files_are_both_written(show: Cli, tmp_path: Path) -> None:
    done = show("a/b a-b a-b-2", "r", "--views", "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[1:] == [
        "s/a-b\tout/s-a-b.csv",
        "s/a-b-2\tout/s-a-b-2.csv",
        "s/a/b\tout/s-a-b-3.csv",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-a-b-2.csv", "s-a-b-3.csv", "s-a-b.csv"]


@pytest.mark.parametrize(("view", "why"), [("dated", "type set"), ("endless", "Out of range")])
def test_a_chart_that_is_no_json_costs_itself_alone(show: Cli, tmp_path: Path, view: str, why: str) -> None:
    done = show(f"chart {view}", "JOB", "--runs-dir", ".", "--views", "out", "--json")
    told = json.loads(done.stdout)
    assert [row["view"] for row in told["views"]] == ["s/chart", f"s/{view}"]
    assert [(row["file"], row["problem"]) for row in told["views"][:1]] == [("out/s-chart.vl.json", "")]
    assert told["views"][1]["file"] is None
    assert told["views"][1]["problem"].startswith(f"`s/{view}` is no JSON: ")
    assert why in told["views"][1]["problem"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["s-chart.vl.json"]
    assert json.loads((tmp_path / "out/s-chart.vl.json").read_text())["of"] == told["job_id"]


def test_where_nothing_is_drawn_or_nothing_can_be_written_it_is_told(show: Cli, tmp_path: Path) -> None:
    done = show("none page", "r", "--views", "out")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "No plugin draws anything of run `r`."
    assert done.exception.hint == "trace-bench plugins"


def test_a_folder_that_cannot_be_written_is_named(show: Cli, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    done = show("chart", "r", "--views", "out")
    assert isinstance(done.exception, OutputError)
    assert str(done.exception).startswith("`out/s-chart.vl.json` cannot be written: ")
    assert done.exception.hint == "trace-bench show JOB --views DIR"
