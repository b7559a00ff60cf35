"""One HTML file that opens from disk: tables in its markup, charts drawn by a script inside it, and the data to verify it by."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
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
STYLE = """
body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;margin:0 auto;max-width:1100px;padding:1.5em;color:#222;background:#fff}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}.note{color:#555;font-size:.9em}
.verdict{font-size:1.2em;border-left:4px solid #0072B2;padding:.4em 1em;background:#f3f7fa}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.87em}
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}
th:first-child,td:first-child{text-align:left}.vega-bind{font-size:.9em}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(640px,1fr));gap:1.5em}
figure{margin:0}figure img{max-width:100%}figcaption{font-size:.9em;color:#555}
"""
DRAW = """
const specs=JSON.parse(document.getElementById('charts').textContent);
for(const [id,spec] of Object.entries(specs))
  vegaEmbed('#'+id,spec,{actions:{export:true,source:false,compiled:false,editor:false},renderer:'svg'});
"""


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
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>\n'
        f"{render_main(runs, comparison)}\n<h2>Charts</h2>\n"
        f'<div class="charts">{shown}</div>\n{viewed}\n'
        f'<script type="application/json" id="comparison">{embedded(report_data(comparison, options=options))}</script>\n'
        f'<script type="application/json" id="charts">{embedded(charts | more)}</script>\n'
        f"<script>{_vega()}</script>\n<script>{DRAW}</script>\n</body></html>\n"
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


def _vega() -> str:
    try:
        bundle: str = import_module("vl_convert").javascript_bundle()
    except ImportError as err:
        raise MissingRequirementError(
            "The report draws with `vl-convert-python`, which is not installed.",
            hint="pip install 'tracebench-engine[report]'",
        ) from err
    return bundle.replace("</script", "<\\/script")
