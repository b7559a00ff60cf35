"""`show RUN|JOB --views DIR`: what suites draw of a run or a job, as files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracebench_core.errors import OutputError, UsageError
from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from tracebench_engine.api.analysis import Shown
    from tracebench_engine.api.records import Run

KINDS = ("columns", "chart", "picture")


def write_views(run: Run, job_id: str | None, folder: Path, *, as_json: bool) -> None:
    """Write a file for every view that has something to show, and print what was written.

    Raises:
        UsageError: when no plugin draws anything of it.
        OutputError: when a file cannot be written.
    """
    from tracebench_engine import api
    from tracebench_engine.api.analysis import build_views

    shown = [*build_views(api.open_host().catalog(), run, job_id, kinds=KINDS)]
    if not shown:
        what = f"job `{job_id}`" if job_id else f"run `{run.run_id}`"
        raise UsageError(f"No plugin draws anything of {what}.", hint="trace-bench plugins")
    rows: list[dict[str, Any]] = []
    for view in shown:
        path = None if view.problem else _write(view, folder)
        rows.append({"view": view.name, "title": view.title, "file": str(path) if path else None, "problem": view.problem})  # fmt: skip
    if as_json:
        output.document("views", run_id=run.run_id, job_id=job_id, views=rows)
        return
    output.table(("view", "file"), [(row["view"], row["file"] or row["problem"]) for row in rows])


def _write(view: Shown, folder: Path) -> Path:
    ending, content = _file(view)
    path = folder / f"{view.name.replace(chr(47), chr(45))}{ending}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as err:
        raise OutputError(
            f"`{path}` cannot be written: {err.strerror}.", hint="trace-bench show JOB --views DIR"
        ) from err
    return path


def _file(view: Shown) -> tuple[str, bytes]:
    if view.kind == "picture":
        return (".png", view.content) if isinstance(view.content, bytes) else (".svg", view.content.encode())
    if view.kind == "chart":
        return ".vl.json", json.dumps(view.content, indent=1).encode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(view.content)
    writer.writerows(zip(*view.content.values(), strict=False))
    return ".csv", text.getvalue().encode()
