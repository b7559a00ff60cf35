"""The page of a published job: what the viewer's page of it shows, as data that its script draws from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.errors import RunDirError
from tracebench_engine.api.judging.reports import views_html
from tracebench_engine.api.records import open_regular
from tracebench_viewer import jobcharts
from tracebench_viewer.diffs import as_text, side_by_side
from tracebench_viewer.jobcharts import UNITS
from tracebench_viewer.jobview import JobView, worst_examples
from tracebench_viewer.lineage import lineage
from tracebench_viewer.look import duration, mark, number
from tracebench_viewer.publishing import markup
from tracebench_viewer.publishing.packing import KINDS, Lines
from tracebench_viewer.shown import beginning, visible, words

MOST_MEASURED, MOST_CALLS = 400, 400
"""Measurements and model calls that a page lists."""
FEEDBACK = 200
"""Characters of a feedback that stand in a table."""
FIRST_PRINTED = 4096
"""Bytes of what a job printed that its page holds."""
DRAWN = ("evaluations", "tokens")
"""Axes on which the candidates are drawn, where the job used anything of them."""
DEPTH = 3


def render_job(run_name: str, job: JobView, *, views: Sequence[Any] = ()) -> str:
    """Return the page. `views` are what plugins draw of the job. What models were asked and said is not in it."""
    spec, lines = job.spec, Lines()
    charts, places = _charts(job)
    drawn, more = views_html(views)
    told = f"{spec.task_id}, {spec.called}, seed {spec.seed}, {_models(job)}"
    parts = [
        f'<p class="note"><a href="../index.html">{markup.text(run_name)}</a>: {markup.text(told)}</p>',
        _error(job, run_name),
        _facts(job),
        markup.section("Candidates", markup.charts(places), _chooser(job), '<div id="candidates"></div>'),
    ]
    tables: dict[str, Any] = {}
    if job.evaluations:
        tables["measured"], parts_of = _measured(job)
        charts |= parts_of
        places_of = dict.fromkeys(
            parts_of,
            "Examples, the worst first, by candidates. ✕ failed, ? could not be measured, empty: was not evaluated.",
        )
        parts.append(markup.section("Examples", markup.charts(places_of), '<div id="measured"></div>'))
    if job.calls:
        tables["calls"] = _listed("Model calls", job.call_rows()[:MOST_CALLS], of=len(job.calls))
        parts.append(markup.section("Model calls", '<div id="calls"></div>'))
    parts += [_printed(job), drawn]
    data = {
        "kinds": KINDS, **_texts(job, lines), "candidates": _rows(_candidates(job)), "best": _best(job),
        "tables": tables, "charts": charts | more, "lines": lines.kept,
    }  # fmt: skip
    return markup.page(f"Job {spec.job_id}", parts, depth=DEPTH, data=data)


def _models(job: JobView) -> str:
    return ", ".join(sorted({model.model for model in job.spec.models.values()})) or "no model"


def _error(job: JobView, run_name: str) -> str:
    error = job.result.error if job.result is not None else None
    if error is None:
        return ""
    again = shlex.join(["trace-bench", "resume", f"runs/{run_name}", "--failed", "--error-type", error.type])
    trace = (
        f"<details><summary>Traceback</summary>{markup.long_text(beginning(error.traceback))}</details>"
        if error.traceback
        else ""
    )
    said = markup.text(f"{error.type}: {words(error.message)}")
    return f'<p class="error">{said}</p>{trace}<p class="note">Run it again: <code>{markup.text(again)}</code></p>'


def _facts(job: JobView) -> str:
    result = job.result
    if result is None:
        return markup.facts([("Status", mark("not_run" if not job.events else "stopped"))])
    initial, best = result.score_val_initial, result.score_val_best
    gain = f" ({best - initial:+.4g})" if best is not None and initial is not None and best != initial else ""
    used = result.used
    told = [
        ("Status", mark(result.status)),
        ("Best on validation", number(best) + gain),
        ("Test", number(result.score_test)),
        ("Evaluations", number(used.evaluations)),
        ("Tokens", number(used.tokens)),
        ("Cost", "unknown" if used.usd is None else f"{used.usd:.4f} USD"),
        ("Took", duration(result.time_seconds)),
        ("Ended", result.stop_reason or "nothing"),
    ]
    return markup.facts(told)


def _charts(job: JobView) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the charts of candidates, and what each shows, by the id of its place."""
    charts: dict[str, Any] = {}
    places: dict[str, str] = {}
    for axis in [axis for axis in DRAWN if axis in job.axes()] or job.axes()[:1]:
        if points := job.points(axis):
            charts[f"curve-{axis}"] = _drawn(jobcharts.score_chart(job.curve(axis), points, axis=axis))
            places[f"curve-{axis}"] = (
                f"Best so far by {UNITS[axis]}, and every candidate where it was measured last. Click one to see it."
            )
    nodes, edges = lineage(job.candidates)
    if len(nodes) > 1:
        charts["lineage"] = _drawn(jobcharts.lineage_chart(nodes, edges))
        folded = " A grey square stands for as many as its number says." if len(nodes) < len(job.candidates) else ""
        places["lineage"] = f"Lineage: each candidate one generation to the right of its parents.{folded}"
    return charts, places


def _drawn(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a chart without Streamlit's selection, and as tall as a page draws it: without room for its legend."""
    layers = [
        {**layer, "encoding": _unpicked(layer["encoding"])} if "encoding" in layer else layer
        for layer in spec.get("layer", [])
    ]
    rest = {name: value for name, value in spec.items() if name not in {"params", "layer"}}
    return {**rest, "height": max(60, spec["height"] - jobcharts.AROUND), **({"layer": layers} if layers else {})}


def _unpicked(encoding: Mapping[str, Any]) -> dict[str, Any]:
    return {**encoding, "opacity": {"value": 0.8}} if "opacity" in encoding else dict(encoding)


def _chooser(job: JobView) -> str:
    if not job.candidates:
        return '<p class="note">No candidate was measured.</p>'
    return (
        '<p id="told" role="status"></p><p><label for="candidate">Candidate</label><select id="candidate"></select></p>'
        '<p class="note" id="beside"></p><div id="texts"></div>'
    )


def _texts(job: JobView, lines: Lines) -> dict[str, Any]:
    """Return every candidate's text, and how it differs from what it was made from, by candidate."""
    values = {name: _values(job, name) for name in job.candidates}
    texts = {name: [[key, lines.of(value)] for key, value in own.items()] for name, own in values.items()}
    first = next(iter(job.candidates), "")
    diffs: dict[str, Any] = {}
    for name, seen in job.candidates.items():
        against = next((parent for parent in seen.event.parents if parent in values), first)
        if against == name:
            continue
        rows = {
            key: lines.diff(side_by_side(values[against][key], value))
            for key, value in values[name].items() if key in values[against] and values[against][key] != value
        }  # fmt: skip
        diffs[name] = {"against": against, "rows": rows}
    return {"texts": texts, "diffs": diffs}


def _values(job: JobView, name: str) -> dict[str, str]:
    try:
        return {visible(key): beginning(as_text(value)) for key, value in job.values(name).items()}
    except RunDirError as err:
        return {"text": str(err)}


def _best(job: JobView) -> str:
    best = job.result.best_candidate if job.result is not None else None
    last = job.bests[-1].candidate if job.bests else None
    return next((name for name in (best, last) if name in job.candidates), next(iter(job.candidates), ""))


def _candidates(job: JobView) -> list[dict[str, Any]]:
    names = ("candidate", "score", "verdict", "delta", "#", "step", "origin", "parents", "reason")
    return [{name: row[name] for name in names} for row in job.table()]


def _measured(job: JobView) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the measurements on the split that counts, and their chart."""
    splits = {done.split for done in job.evaluations}
    split = "validation" if "validation" in splits else min(splits)
    cells = job.matrix(split=split)
    examples = worst_examples(cells)[: jobcharts.SHOWN]
    columns = {*sorted({cell["#"] for cell in cells})[-jobcharts.SHOWN :]}
    order = {example: i for i, example in enumerate(examples)}
    shown = sorted(
        (cell for cell in cells if cell["example"] in order and cell["#"] in columns),
        key=lambda c: (order[c["example"]], c["#"]),
    )
    names = ("example", "#", "status", "score", "seconds", "feedback")
    rows = [{name: cell[name][:FEEDBACK] if name == "feedback" else cell[name] for name in names} for cell in shown]
    charts = {"matrix": _drawn(jobcharts.matrix_chart(shown, examples))} if len(examples) > 1 else {}
    return _listed(f"Measurements on {split}, the worst examples first", rows[:MOST_MEASURED], of=len(cells)), charts


def _listed(caption: str, rows: Sequence[Mapping[str, Any]], *, of: int) -> dict[str, Any]:
    told = caption if len(rows) == of else f"{caption}: {len(rows)} of {of}"
    return {"caption": told, **_rows(rows)}


def _rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    headers = [*rows[0]] if rows else []
    return {"headers": headers, "rows": [[words(v) if isinstance(v, str) else v for v in row.values()] for row in rows]}


def _printed(job: JobView) -> str:
    try:
        with open_regular(job.layout.stdout) as log:
            text = log.read(FIRST_PRINTED).decode(errors="replace")
    except OSError:
        return ""
    return markup.section("What it printed", markup.long_text(text), note="The beginning.") if text.strip() else ""
