"""`export`: a run's tables for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import find_to_read
from tracebench_engine.api.console.options import AsJson, RunsDir


class ExportFormat(StrEnum):
    """What other programs read."""

    parquet = "parquet"
    csv = "csv"
    jsonl = "jsonl"
    duckdb = "duckdb"
    ioh = "ioh"


def export(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run directory, or the id of one in `--runs-dir`.")],
    *,
    format_: Annotated[
        ExportFormat,
        typer.Option("--format", help="`ioh` is for IOHanalyzer; `parquet` and `duckdb` need the extra `export`."),
    ] = ExportFormat.csv,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="PATH", help="The folder or database to make.  [default: RUN-FORMAT here]"),
    ] = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> None:
    """Write a run as tables for other programs. Jobs, steps, evaluations, candidates and calls."""
    from tracebench_engine.api.records import export_run, load_run

    run = load_run(find_to_read(name, runs_dir=runs_dir))
    target = to or Path(f"{run.run_id}.duckdb" if format_ is ExportFormat.duckdb else f"{run.run_id}-{format_.value}")
    written = export_run(run, target, format_=format_.value)
    if as_json:
        output.document(
            "export", run_id=run.run_id, format=format_.value, path=str(target), files=list(map(str, written))
        )
        return
    for path in written:
        output.line(str(path))
