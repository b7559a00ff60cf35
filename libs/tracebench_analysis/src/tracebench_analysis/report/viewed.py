"""What plugins draw of the runs, laid out for a report: it stands below the tables that can be verified, and proves nothing."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracebench_analysis.figures.views import Shown, best_jobs, build_views
from tracebench_analysis.report.sections import number
from tracebench_core.plugins import Catalog
from tracebench_runs.reading.reader import Run

KINDS = ("columns", "chart", "picture")
MOST_JOBS, MOST_ROWS = 40, 50
"""Best jobs of a run that are drawn, one for each task, and rows of a table."""


class Drawn(NamedTuple):
    """One view in words and data."""

    heading: str
    shown: Shown


def drawn_views(catalog: Catalog, runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield the views of every run and of its best job on each task."""
    for run in runs:
        for shown in build_views(catalog, run, None, kinds=KINDS):
            yield Drawn(f"{run.run_id}: {shown.title}", shown)
        for job_id in best_jobs(run)[:MOST_JOBS]:
            job = run.job(job_id)
            for shown in build_views(catalog, run, job_id, kinds=KINDS):
                yield Drawn(f"{shown.title}: {job.task_id}, {job.called}, seed {job.seed}", shown)


def views_html(views: Sequence[Drawn]) -> tuple[str, dict[str, Any]]:
    """Return views as HTML, and their charts by the id of the element that each is drawn into."""
    charts: dict[str, Any] = {}
    parts = []
    for i, (heading, shown) in enumerate(views):
        name = f"view-{i}"
        if shown.problem:
            body = f'<p class="note">{html.escape(shown.problem)}</p>'
        elif shown.kind == "columns":
            body = _table(shown.content)
        elif shown.kind == "chart":
            charts[name], body = shown.content, f'<div id="{name}"></div>'
        else:
            body = f'<img alt="{html.escape(heading)}" src="{data_uri(shown.content)}">'
        parts.append(f"<figure><figcaption>{html.escape(heading)}</figcaption>{body}</figure>")
    return (f'<h2>Drawn by the suites</h2>\n<div class="charts">{"".join(parts)}</div>' if parts else ""), charts


def data_uri(picture: str | bytes) -> str:
    """Return a picture as an address that holds it; what is in it cannot act, for it is shown as an image."""
    kind = "svg+xml" if isinstance(picture, str) else "png"
    content = picture.encode() if isinstance(picture, str) else picture
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _table(columns: Mapping[str, Sequence[Any]]) -> str:
    rows = list(zip(*columns.values(), strict=False))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>" for row in rows[:MOST_ROWS]
    )
    more = f'<p class="note">{len(rows) - MOST_ROWS} more rows.</p>' if len(rows) > MOST_ROWS else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def _cell(value: Any) -> str:
    return number(value) if value is None or isinstance(value, float) else str(value)
