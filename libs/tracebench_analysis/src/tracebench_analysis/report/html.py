"""One HTML file that opens from disk: tables in its markup, charts drawn by a script inside it, and the data to verify it by."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tracebench_analysis.comparison.document import METHOD, comparison_data
from tracebench_analysis.comparison.sentences import next_step, remarks, verdict_sentence
from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.report.figures import Figure, figures
from tracebench_analysis.report.sections import Section, sections
from tracebench_analysis.report.viewed import Drawn, views_html
from tracebench_core.errors import MissingRequirementError
from tracebench_core.ids import canonical_json
from tracebench_runs.reading.reader import Run

POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
"""No address may be asked for anything; Vega compiles its expressions, hence `unsafe-eval`."""
MAIN = re.compile(r"<main>.*?</main>", re.DOTALL)
DATA = re.compile(r'<script type="application/json" id="comparison">(.*?)</script>', re.DOTALL)
CHARTS = re.compile(r'<script type="application/json" id="charts">(.*?)</script>', re.DOTALL)
_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
_HERE = Path(__file__).parent
PAGE_STYLE = (_HERE / "page.css").read_text()
"""Of every page that a run is told on: colours in light and in dark, and what fits a narrow screen."""
CHARTS_STYLE = (_HERE / "report.css").read_text()
CHARTS_SCRIPT = (_HERE / "charts.js").read_text()
"""Draws Vega-Lite as wide as its place and in the page's colours: `drawChart(element, spec)`. It wants `chart_library`."""
DRAW = (_HERE / "report.js").read_text()


def render_html(
    runs: Sequence[Run], comparison: Comparison, *, options: Mapping[str, Any], views: Sequence[Drawn] = ()
) -> str:
    """Return the report. `options` are those of the comparison, kept so that `verify` can repeat it; `views` come from plugins.

    Raises:
        MissingRequirementError: when the chart libraries are not installed.
    """
    drawn = figures(runs, comparison)
    charts = _specs(drawn)
    shown = "".join(
        f'<figure><figcaption>{html.escape(figure.caption)}</figcaption><div id="{name}"></div></figure>'
        for name, figure in drawn.items()
    )
    viewed, more = views_html(views)
    title = html.escape(f"Comparison of {', '.join(comparison.runs)}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{PAGE_STYLE}{CHARTS_STYLE}</style></head><body>\n'
        f"{render_main(runs, comparison)}\n<h2>Charts</h2>\n"
        f'<div class="charts">{shown}</div>\n{viewed}\n'
        f'<script type="application/json" id="comparison">{embedded(report_data(comparison, options=options))}</script>\n'
        f'<script type="application/json" id="charts">{embedded(charts | more)}</script>\n'
        f"<script>{chart_library()}</script>\n<script>{CHARTS_SCRIPT}{DRAW}</script>\n</body></html>\n"
    )


def check_charts(text: str, runs: Sequence[Run], comparison: Comparison) -> tuple[list[str], list[str]]:
    """Return which charts of a report differ from those drawn anew, and which cannot be drawn here: those of plugins' views.

    Raises:
        MissingRequirementError: when the chart library is not installed, so that none can.
    """
    found = CHARTS.search(text)
    try:
        told = json.loads(found[1]) if found else {}
    except ValueError:
        told = {}
    anew = json.loads(canonical_json(_specs(figures(runs, comparison))))
    differing = [name for name in anew if told.get(name) != anew[name]]
    return differing, [name for name in told if name not in anew]


def _specs(drawn: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: json.loads(figure.chart.to_json(validate=False)) for name, figure in drawn.items()}


def report_data(comparison: Comparison, *, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report embeds: in which way it compares, the options, and all that the comparison says, as in `compare --json`."""
    return {"schema_version": 1, "method": METHOD, "options": dict(options), "comparison": comparison_data(comparison)}


def render_main(runs: Sequence[Run], comparison: Comparison) -> str:
    """Return the part with the verdict and all tables; equal runs give the same bytes."""
    step = next_step(comparison)
    said = [*remarks(comparison), *([step] if step else [])]
    notes = "".join(f"<li>{html.escape(remark)}</li>" for remark in said)
    body = "\n".join(table(section) for section in sections(runs, comparison))
    return (
        f"<main><h1>{html.escape(', '.join(comparison.runs))}</h1>"
        f'<p class="verdict">{html.escape(verdict_sentence(comparison))}</p>'
        f'<ul class="note">{notes}</ul>\n{body}</main>'
    )


def table(section: Section) -> str:
    head = "".join(f"<th>{html.escape(header)}</th>" for header in section.headers)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in section.rows
    )
    note = f'<p class="note">{html.escape(section.note)}</p>' if section.note else ""
    return (
        f'<h2>{html.escape(section.title)}</h2>{note}<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def embedded(data: Any) -> str:
    """Return data as JSON that cannot end the script element it stands in."""
    return canonical_json(data).decode().replace("<", "\\u003c")


def chart_library() -> str:
    """Return the script that draws Vega-Lite, to stand inside a page; its engine gives 200 MB back by ending alone.

    Raises:
        MissingRequirementError: when it is not installed.
    """
    if find_spec("vl_convert") is None:
        lacking = "The report draws with `vl-convert-python`, which is not installed."
        raise MissingRequirementError(lacking, hint="pip install 'tracebench-engine[report]'")
    done = subprocess.run([sys.executable, "-P", "-c", _BUNDLE], check=True, stdout=subprocess.PIPE)  # noqa: S603 - ours
    return done.stdout.decode().replace("</script", "<\\/script")
