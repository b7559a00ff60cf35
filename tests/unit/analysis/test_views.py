"""What plugins draw reaches reports and files as plain data, and what could act in a picture is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_comparison import noisy

from tracebench_analysis.figures.views import best_jobs, build_views, clean_svg
from tracebench_analysis.report.viewed import drawn_views, views_html
from tracebench_core.plugins import Catalog
from tracebench_core.specs import ViewSpec
from tracebench_runs.reading.reader import load_run

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<foreignObject><p/></foreignObject>",
        '<rect onload="alert(1)"/>',
        '<rect style="fill:url(http://x.example)"/>',
        '<rect fill="url(http://x.example/a)"/>',
        '<rect fill="javascript:alert(1)"/>',
        '<image href="http://x.example/a.png"/>',
        '<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#a"/>',
        '<a href="http://x.example">x</a>',
        "<style>*{background:url(//x.example)}</style>",
        '<animate attributeName="x"/>',
        '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
        "<!-- c -->",
        "<rect",
    ],
)
def test_what_could_act_in_a_picture_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match="picture"):
        clean_svg(SVG.format(inside))


def test_entities_are_refused_before_they_are_read() -> None:
    bomb = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + SVG.format("<text>&b;</text>")
    with pytest.raises(ValueError, match="document type"):
        clean_svg(bomb)


def test_a_drawing_stays_as_it_is() -> None:
    drawing = SVG.format(
        '<g transform="rotate(3)"><circle cx="1" cy="1" r="2" fill="url(#g)"/><text x="1">a &lt; b</text></g>'
    )
    assert clean_svg(drawing) == drawing.replace("/>", " />")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return make_run(tmp_path / "r", noisy(0.5), trainers=["A", "B"]).layout.path


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Catalog]:
    def offer(**loaders: tuple[str, Callable[..., Any]]) -> Catalog:
        module = ModuleType("views_of_this_test")
        found = Catalog()
        for name, (kind, load) in loaders.items():
            setattr(module, name, load)
            found.components["view"][name] = ViewSpec.model_validate(
                {"name": name, "kind": kind, "loader": f"views_of_this_test:{name}"}
            )
        monkeypatch.setitem(sys.modules, "views_of_this_test", module)
        return found

    return offer


@pytest.mark.parametrize("raised", [RuntimeError, SystemExit])
def test_every_view_is_plain_data_and_a_broken_one_costs_itself(
    catalog: Callable[..., Catalog], recorded: Path, raised: type[BaseException]
) -> None:
    def fail(_run: object, _job: object) -> None:
        raise raised("on <purpose>")

    offered = catalog(
        a=("columns", lambda run, job: {"n": [1, None, "<b>"], "o": [object(), 2.5, ()]}),
        b=("chart", lambda run, job: {"mark": "bar"}),
        c=("picture", lambda run, job: SVG.format("<rect/>")),
        d=("picture", lambda run, job: SVG.format("<script/>")),
        e=("chart", fail),
        f=("page", lambda run, job: None),
    )
    run = load_run(recorded)
    shown = {view.name: view for view in build_views(offered, run, None)}
    assert [*shown] == ["a", "b", "c", "d", "e"]
    assert shown["b"].content == {"mark": "bar"}
    assert all(isinstance(cell, str | int | float | None) for cell in shown["a"].content["o"])
    assert "script" in shown["d"].problem
    assert "on <purpose>" in shown["e"].problem
    text, charts = views_html([*drawn_views(offered, [run])])
    assert text.count("<figure>") == 5 * (1 + len(best_jobs(run)))
    assert [*charts.values()] == [{"mark": "bar"}] * (1 + len(best_jobs(run)))
    assert "<purpose>" not in text
    assert "<b>" not in text


def test_the_best_job_of_every_task_is_drawn(recorded: Path) -> None:
    run = load_run(recorded)
    for job_id in best_jobs(run):
        best = run.results[job_id]
        rivals = [r.score_val_best for r in run.results.values() if r.task_id == best.task_id]
        assert best.score_val_best == max(score for score in rivals if score is not None)
