from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.unit.analysis.runs import make_run
from tests.unit.analysis.test_comparison import noisy

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.report.text import render_junit, render_markdown
from tracebench_core.errors import TraceBenchError, UsageError
from tracebench_engine.cli.results import report as command
from tracebench_engine.cli.results.verify import verify

HOSTILE = 'A</script><img src=x onerror="alert(1)">|'
OPTIONS = {"baseline": None, "axis": "evaluations", "at": None, "policy": "initial"}


@pytest.fixture
def html(tmp_path: Path) -> tuple[Path, Path]:
    """Return a run whose trainer has a hostile name, and its report."""
    pytest.importorskip("altair", reason="altair draws the charts (extra `report`)")
    pytest.importorskip("vl_convert", reason="vl-convert-python holds the charts' scripts (extra `report`)")
    from tracebench_analysis.report.html import render_html

    run = make_run(tmp_path / "r", noisy(0.5), trainers=[HOSTILE, "B"])
    file = tmp_path / "report.html"
    file.write_text(render_html([run], compare_runs([run]), options=OPTIONS))
    return run.layout.path, file


def test_a_report_asks_for_nothing_and_runs_no_text_of_a_run(html: tuple[Path, Path]) -> None:
    _, file = html
    text = file.read_text()

    assert len(text) < 3_000_000
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
    assert not re.search(r"<\w+[^>]*\s(?:src|href)=", markup)
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert HOSTILE not in text
    assert "<img src=x" not in text


def test_a_report_remembers_its_margin(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="altair draws the charts (extra `report`)")
    pytest.importorskip("vl_convert", reason="vl_convert holds the script that draws (extra `report`)")
    run = make_run(tmp_path / "r", noisy(0.0, spread=0.01), tasks=["s:x"], seeds=range(8))
    file = tmp_path / "report.html"
    command.report([str(run.layout.path)], out=file, margin=0.05)

    assert "No difference that matters between" in file.read_text()
    verify(str(file), [str(run.layout.path)])
    file.write_text(file.read_text().replace('"margin":0.05', '"margin":0.001'))
    with pytest.raises(TraceBenchError, match="does not agree"):
        verify(str(file), [str(run.layout.path)])


def test_a_report_agrees_with_its_runs_until_either_is_changed(html: tuple[Path, Path]) -> None:
    run, file = html
    verify(str(file), [str(run)])

    text = file.read_text()
    score = re.search(r"<td>(0\.\d{3,4})</td>", text)
    assert score is not None
    file.write_text(text.replace(score[0], "<td>0.9999</td>", 1))
    with pytest.raises(TraceBenchError, match="the tables as shown"):
        verify(str(file), [str(run)])

    file.write_text(re.sub(r'"verdict":"[^"]*"', '"verdict":"B is better"', text, count=1))
    with pytest.raises(TraceBenchError, match=r"in: pairs\.$"):
        verify(str(file), [str(run)])

    assert text.count('"score":0.') > 3
    file.write_text(text.replace('"score":0.', '"score":0.9'))
    with pytest.raises(TraceBenchError, match="chart `leaderboard`"):
        verify(str(file), [str(run)])

    file.write_text(text)
    result = next(run.glob("jobs/*/results.json"))
    data = json.loads(result.read_text())
    data["score_test"] += 1
    result.write_text(json.dumps(data))
    with pytest.raises(TraceBenchError, match="leaderboard"):
        verify(str(file), [str(run)])


@pytest.mark.parametrize(
    "content", ["", "<main></main>", '<script type="application/json" id="comparison">{}</script>']
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    run = make_run(tmp_path / "r", noisy(0.5))
    (tmp_path / "other.html").write_text(content)

    with pytest.raises(UsageError, match="report"):
        verify(str(tmp_path / "other.html"), [str(run.layout.path)])


def test_junit_counts_failures_and_what_was_not_run(tmp_path: Path) -> None:
    statuses = {("A", "s:x", 0): "failed", ("B", "s:x", 1): "not_run"}
    run = make_run(tmp_path / "r", noisy(0.5), statuses=statuses)  # type: ignore[arg-type]

    suite = ET.fromstring(render_junit(compare_runs([run])))[0]

    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("10", "1", "1")


def test_markdown_keeps_its_tables_whole_whatever_names_hold(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), trainers=[HOSTILE, "B"])

    lines = [line for line in render_markdown([run], compare_runs([run])).splitlines() if line.startswith("|")]

    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert all(bars[i] == bars[i + 1] for i, line in enumerate(lines[:-1]) if set(lines[i + 1]) <= set("| -"))
    assert not any("<img" in line for line in lines)


@pytest.mark.parametrize(("held", "told"), [("strong", "strong"), ("", "-")])
def test_it_tells_how_candidates_were_held(tmp_path: Path, held: str, told: str) -> None:
    run = make_run(tmp_path / "r", noisy(0.5), isolation=held)

    text = render_markdown([run], compare_runs([run]))
    head, _, row = text.partition("## What ran")[2].strip().splitlines()[:3]

    cells = dict(zip(head.split("|"), row.split("|"), strict=True))
    assert cells[" protection "].strip() == told


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", noisy(0.5))

    with pytest.raises(UsageError, match="no ending"):
        command.report([str(run.layout.path)], out=tmp_path / "report.pdf")
