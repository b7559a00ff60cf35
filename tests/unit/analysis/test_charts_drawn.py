"""What charts show, whatever draws them: the fields of each, bands that stand for noise, one colour an entrant."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_comparison import noisy

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.comparison.sentences import next_step, remarks, verdict_sentence
from tracebench_analysis.figures import charts
from tracebench_analysis.figures.charts import COLORS, HEIGHT, WIDTH, Charts
from tracebench_analysis.report import html
from tracebench_analysis.report.figures import figures
from tracebench_analysis.report.html import check_charts, embedded, render_html, render_main, table
from tracebench_analysis.report.sections import Section
from tracebench_core.errors import MissingRequirementError


class Made:
    """What a drawing library was asked to make, and what was then asked of it."""

    def __init__(self, kind: str, args: tuple[Any, ...], told: dict[str, Any], calls: tuple[Any, ...] = ()) -> None:
        self.kind, self.args, self.told, self.calls = kind, args, told, calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **told: Made(self.kind, self.args, self.told, (*self.calls, (name, args, told)))

    def asked(self, name: str) -> dict[str, Any]:
        """Return all that was told under a name; what has no name there under `args`."""
        found: dict[str, Any] = {}
        for called, args, told in self.calls:
            if called == name:
                found |= told | ({"args": args} if args else {})
        return found

    def to_json(self, *, validate: bool) -> str:
        assert not validate
        return json.dumps(self.kind)

    @property
    def marks(self) -> list[str]:
        return [name for name, _, _ in self.calls if name.startswith("mark_")]


class Library:
    """Makes what it is asked for."""

    def __getattr__(self, kind: str) -> Any:
        return lambda *args, **told: Made(kind, args, told)


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Iterator[Charts]:
    monkeypatch.setitem(sys.modules, "altair", Library())  # type: ignore[arg-type]  # makes what is asked for
    return Charts(["A", "B"])


def values(chart: Made) -> Any:
    return chart.args[0].told["values"]


def shorthand(channel: Any) -> Any:
    return channel.args[0] if isinstance(channel, Made) else channel


def fields(chart: Made) -> dict[str, Any]:
    return {
        name: shorthand(channel) for name, channel in chart.asked("encode").items() if name not in {"color", "args"}
    }


ROWS = [
    {"trainer": name, "score": score, "low": score - 1, "high": score + 1} for name, score in (("A", 2.0), ("B", 5.0))
]


def test_every_entrant_has_one_colour_and_after_the_last_the_first_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", Library())  # type: ignore[arg-type]  # as above
    names = [f"t{n}" for n in range(len(COLORS) + 2)]
    color = Charts(names)._color
    assert shorthand(color) == "trainer:N"
    assert color.told["scale"].told == {"domain": names, "range": [*COLORS, *COLORS[:2]]}
    assert len({*COLORS}) == len(COLORS)


def test_without_the_library_what_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # type: ignore[arg-type]  # as one that is not installed
    with pytest.raises(MissingRequirementError, match="need `altair`") as caught:
        Charts([])
    assert caught.value.hint.endswith("'tracebench-engine[report]'")
    assert "pip install" in caught.value.hint
    monkeypatch.setitem(sys.modules, "altair", SimpleNamespace(is_it=True))  # type: ignore[arg-type]  # as above
    assert charts.altair().is_it


@pytest.mark.parametrize(("floor", "bands"), [(0.5, [[{"from": 4.5, "to": 5.0}]]), (None, []), (0.0, [])])
def test_a_leaderboard_shows_intervals_and_scores_over_the_floor_below_the_best(
    draw: Charts, floor: float | None, bands: Any
) -> None:
    chart = draw.leaderboard(ROWS, floor=floor)
    *band, rule, point = chart.args
    assert [values(each) for each in band] == bands
    assert [(each.marks, fields(each)) for each in band] == [(["mark_rect"], {"x": "from:Q", "x2": "to:Q"})] * len(
        bands
    )
    assert (rule.marks, fields(rule)) == (["mark_rule"], {"y": "trainer:N", "x": "low:Q", "x2": "high:Q"})
    assert point.marks == ["mark_point"]
    assert fields(point)["x"] == "score:Q"
    assert fields(point)["tooltip"] == ["trainer:N", "score:Q", "low:Q", "high:Q"]
    assert values(rule) == values(point) == ROWS
    assert chart.asked("properties") == {"width": WIDTH, "height": 60}
    assert draw.leaderboard(ROWS * 3, floor=None).asked("properties")["height"] == 28 * 6
    assert len(draw.leaderboard([], floor=0.5).args) == 2


def test_what_scores_are_made_of_is_content_and_form(draw: Charts) -> None:
    rows = [{**row, "part": part} for row in ROWS for part in ("content", "form")]
    chart = draw.gains(rows)
    assert (values(chart), chart.marks) == (rows, ["mark_bar"])
    assert fields(chart) == {
        "y": "trainer:N", "x": "score:Q", "tooltip": ["trainer:N", "part:N", "score:Q", "low:Q", "high:Q"],
    }  # fmt: skip
    color = chart.asked("encode")["color"]
    assert shorthand(color) == "part:N"
    scale = color.told["scale"].told
    assert scale["domain"] == ["content", "form"]
    assert len({*scale["range"]}) == 2
    assert chart.asked("properties")["height"] == 60
    assert draw.gains(rows * 2).asked("properties")["height"] == 14 * 8


def curve(axis: str, x: float) -> dict[str, Any]:
    return {"axis": axis, "x": x, "trainer": "A", "mean": 1.0, "low": 0.0, "high": 2.0, "carried": False}


def test_curves_of_one_axis_are_named_by_it_and_of_several_chosen_from_a_menu(draw: Charts) -> None:
    one = draw.curves([curve("usd", 1.0), curve("usd", 2.0)])
    band, line = one.args
    assert (band.marks, line.marks) == (["mark_area"], ["mark_line"])
    assert fields(band) == {"x": "x:Q", "y": "low:Q", "y2": "high:Q", "detail": "carried:N"}
    assert fields(line) == {"x": "x:Q", "y": "mean:Q", "strokeDash": "carried:N"}
    assert line.asked("encode")["strokeDash"].told["scale"].told["domain"] == [False, True]
    assert line.asked("encode")["x"].told["title"] == "usd used"
    assert line.asked("mark_line")["interpolate"] == "step-after"
    assert not one.asked("add_params")
    assert not line.asked("transform_filter")
    assert one.asked("properties") == {"width": WIDTH, "height": HEIGHT}
    several = draw.curves([curve("usd", 1.0), curve("tokens", 2.0), curve("usd", 3.0)])
    (menu,) = several.asked("add_params")["args"]
    assert (menu.told["name"], menu.told["value"]) == ("axis", "usd")
    assert menu.told["bind"].told["options"] == ["usd", "tokens"]
    band, line = several.args
    assert line.asked("transform_filter")["args"] == band.asked("transform_filter")["args"] == ("datum.axis === axis",)
    assert line.asked("encode")["x"].told["title"] == "used"
    assert draw.curves([]).asked("properties") == {"width": WIDTH, "height": HEIGHT}


def test_shares_are_steps_in_percent(draw: Charts) -> None:
    for chart, x, title, y in (
        (draw.profile(ROWS), "score:Q", "normalised score", "jobs above it"), (draw.reached(ROWS), "x:Q", "evaluations", "targets reached"),
    ):  # fmt: skip
        assert (chart.marks, values(chart), fields(chart)) == (["mark_line"], ROWS, {"x": x, "y": "share:Q"})
        told = chart.asked("encode")
        assert (told["x"].told["title"], told["y"].told["title"]) == (title, y)
        assert told["y"].told["axis"].told == {"format": "%"}
        assert chart.asked("mark_line")["interpolate"] == "step-after"
        assert chart.asked("properties") == {"width": WIDTH, "height": HEIGHT}


def test_the_critical_difference_begins_at_the_best_rank(draw: Charts) -> None:
    rows = [{"trainer": name, "rank": rank} for name, rank in (("A", 2.5), ("B", 1.5), ("C", 3.0))]
    chart = draw.ranks(rows, critical=0.75)
    band, points = chart.args
    assert (values(band), fields(band)) == ([{"from": 1.5, "to": 2.25}], {"x": "from:Q", "x2": "to:Q"})
    assert fields(points) == {"x": "rank:Q", "y": "trainer:N", "tooltip": ["trainer:N", "rank:Q"]}
    assert points.asked("encode")["x"].told["scale"].told == {"zero": False}
    assert points.asked("encode")["y"].told["sort"].args == ("rank",)
    assert chart.asked("properties") == {"width": WIDTH, "height": 28 * 3}
    assert draw.ranks(rows[:1], critical=1.0).asked("properties")["height"] == 60


@pytest.mark.parametrize(
    ("costs", "field"),
    [
        ([(1.0, 5, 7), (2.0, 6, 8)], "usd"), ([(None, 5, 7), (2.0, 6, 8)], "tokens"), ([(0.0, 5, 7), (0.0, 6, 8)], "tokens"),
        ([(0.0, 5, 7), (2.0, 6, 8)], "usd"), ([(None, None, 7), (None, 6, 8)], "evaluations"), ([(0.0, 0, 7), (0.0, 0, 8)], "evaluations"),
        ([], "evaluations"), ([(None, None, None), (None, None, 8)], "evaluations"),
    ],
)  # fmt: skip
def test_costs_are_in_money_where_every_price_is_known_else_in_tokens_else_in_evaluations(
    draw: Charts, costs: Any, field: str
) -> None:
    rows = [
        {**row, "usd": usd, "tokens": tokens, "evaluations": evaluations}
        for row, (usd, tokens, evaluations) in zip(ROWS, costs, strict=False)
    ]
    chart = draw.cost(rows)
    bars, points = chart.args
    assert values(points) == values(bars) == [row for row in rows if row[field] is not None]
    assert fields(bars) == {"x": f"{field}:Q", "y": "low:Q", "y2": "high:Q"}
    assert fields(points) == {"x": f"{field}:Q", "y": "score:Q", "tooltip": ["trainer:N", "score:Q", f"{field}:Q"]}
    assert points.asked("encode")["x"].told["title"] == f"{field} per job"
    assert chart.asked("properties") == {"width": WIDTH, "height": HEIGHT}


@pytest.mark.usefixtures("draw")
def test_a_report_draws_the_charts_that_have_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), trainers=["A", "B", "C"], tasks=[f"s:{n}" for n in range(6)])
    comparison = compare_runs([run])
    found = figures([run], comparison)
    assert {"leaderboard", "cost", "profile"} <= {*found}
    assert "gains" not in found
    assert "95 % intervals" in found["leaderboard"].caption
    if comparison.ranks is not None:
        critical = comparison.ranks.critical_difference
        assert f"critical difference {critical:.2f} " in found["ranks"].caption
    text = f'<script type="application/json" id="charts">{json.dumps(dict.fromkeys([*found, "of a plugin"], "LayerChart"))}</script>'
    drawn = {name: json.loads(figure.chart.to_json(validate=False)) for name, figure in found.items()}
    true = f'<script type="application/json" id="charts">{json.dumps({**drawn, "of a plugin": 1})}</script>'
    assert check_charts(true, [run], comparison) == ([], ["of a plugin"])
    assert check_charts(text, [run], comparison) == (sorted(found), ["of a plugin"])
    for broken in ("", '<script type="application/json" id="charts">{</script>'):
        assert check_charts(broken, [run], comparison) == (sorted(found), [])
    monkeypatch.setattr(html, "find_spec", lambda _name: None)
    with pytest.raises(MissingRequirementError, match="vl-convert-python"):
        render_html([run], comparison, options={})
    monkeypatch.setattr(html, "chart_library", lambda: "LIBRARY")
    page = render_html([run], comparison, options={"margin": 0.5})
    assert page.count("<figure>") == len(found)
    for part in ("LIBRARY", '"margin":0.5', '<div id="leaderboard"></div>', "<title>Comparison of r</title>"):
        assert part in page


def test_a_table_shows_its_cells_as_they_are_written() -> None:
    shown = table(Section("a < b", ("x & y",), [("<1>",), ("2",)], note="so > that"))
    for part in (
        "<h2>a &lt; b</h2>",
        "<th>x &amp; y</th>",
        "<td>&lt;1&gt;</td>",
        "<td>2</td>",
        '<p class="note">so &gt; that</p>',
    ):
        assert part in shown
    assert shown.count("<tr>") == 3
    assert 'class="note"' not in table(Section("a", ("x",), []))
    assert embedded({"a": "</script>"}) == '{"a":"\\u003c/script>"}'


@pytest.mark.parametrize("difference", [0.5, 0.0])
def test_a_report_begins_with_the_verdict_and_what_is_remarked(tmp_path: Path, difference: float) -> None:
    run = make_run(tmp_path / "r", noisy(difference))
    comparison = compare_runs([run])
    main = render_main([run], comparison)
    said = [*remarks(comparison), *filter(None, [next_step(comparison)])]
    assert main.startswith("<main><h1>r</h1>")
    assert main.count("<li>") == len(said)
    assert f'<p class="verdict">{verdict_sentence(comparison).replace(chr(39), "&#x27;")}</p>' in main
