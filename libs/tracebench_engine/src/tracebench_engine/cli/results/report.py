"""`report`: a comparison as a file to hand on."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tracebench_core.errors import MissingRequirementError, OutputError, UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_to_read, spare_runs
from tracebench_engine.api.console.options import AsJson, RunsDir
from tracebench_engine.api.console.writing import put
from tracebench_engine.cli.results.compare import AxisName

if TYPE_CHECKING:
    from tracebench_engine.api.judging.comparing import Comparison
    from tracebench_engine.api.records import Run

FORMATS = (".html", ".md", ".xml", ".csv", ".parquet", ".json")
RunNames = Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs: directories, or ids in `--runs-dir`.")]


def report(
    names: RunNames,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Its ending says what: .html, .md, .xml (JUnit), .csv, .parquet, .json.",
        ),
    ] = Path("report.html"),
    runs_dir: RunsDir = None,
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="As in `compare`.")] = None,
    axis: Annotated[AxisName, typer.Option(help="As in `compare`.")] = "evaluations",
    at: Annotated[float | None, typer.Option(metavar="N", min=0, help="As in `compare`.")] = None,
    failures: Annotated[Literal["initial", "worst", "exclude"], typer.Option(help="As in `compare`.")] = "initial",
    margin: Annotated[float | None, typer.Option(metavar="D", help="As in `compare`.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a comparison of runs to one file. HTML opens from disk, offline."""
    if out.suffix not in FORMATS:
        raise UsageError(f"`{out}` has no ending that says what to write.", hint=f"one of: {', '.join(FORMATS)}")
    spare_runs(out)
    options = {"baseline": baseline, "axis": axis, "at": at, "policy": failures, "margin": margin}
    runs = load_runs(names, runs_dir)
    content = _render(out.suffix, runs, compared(runs, options), options)
    try:
        put(out, content)
    except OSError as err:
        raise OutputError(
            f"`{out}` cannot be written: {err.strerror}.", hint="trace-bench report RUN -o report.html"
        ) from err
    if as_json:
        output.document("report", path=str(out), bytes=len(content))
    else:
        output.line(str(out))


def load_runs(names: list[str], runs_dir: str | None) -> list[Run]:
    """Open runs by their names, each once."""
    from tracebench_engine.api.records import load_run

    return [load_run(find_to_read(name, runs_dir=runs_dir)) for name in dict.fromkeys(names)]


def compared(runs: list[Run], options: dict[str, Any]) -> Comparison:
    """Compare runs as a report does."""
    from tracebench_engine.api.installed.hosting import find_aggregate
    from tracebench_engine.api.judging.comparing import compare_runs

    return compare_runs(runs, find=find_aggregate, **options)


def _render(suffix: str, runs: list[Run], comparison: Comparison, options: dict[str, Any]) -> bytes:
    from tracebench_engine.api.judging.comparing import STANDING_COLUMNS, comparison_data, standing_rows
    from tracebench_engine.api.judging.reports import render_junit, render_markdown

    match suffix:
        case ".html":
            from tracebench_engine import api
            from tracebench_engine.api.judging.reports import drawn_views, render_html

            views = [*drawn_views(api.open_host().catalog(), runs)]
            return render_html(runs, comparison, options=options, views=views).encode()
        case ".md":
            return render_markdown(runs, comparison).encode()
        case ".xml":
            return render_junit(comparison).encode()
        case ".json":
            return json.dumps(comparison_data(comparison), indent=2, allow_nan=False).encode() + b"\n"
        case ".csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, STANDING_COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(standing_rows(comparison))
            return text.getvalue().encode()
    return _parquet([*standing_rows(comparison)])


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as err:
        raise MissingRequirementError(
            "Parquet needs `pyarrow`, which is not installed.", hint="pip install 'tracebench-engine[parquet]'"
        ) from err
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()
