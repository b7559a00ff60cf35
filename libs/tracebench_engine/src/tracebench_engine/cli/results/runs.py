"""`runs`: the runs of a folder, newest first; no plugin and no engine needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.locate import DEFAULT_RUNS_DIR, is_run
from tracebench_engine.api.console.options import AsJson, Columns, RunsDir
from tracebench_engine.api.console.tables import chosen

COLUMNS = ("run", "started", "jobs", "status", "tasks", "trainers", "calls", "usd")
LEAST = ("usd", "calls", "trainers", "tasks")
_NAMED = 2
"""Tasks and trainers that a cell names before it counts the rest."""


def runs(
    *,
    runs_dir: RunsDir = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest N runs.")] = 20,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    """List the runs of a folder, newest first."""
    shown = chosen(columns, COLUMNS)
    folder = Path(runs_dir or DEFAULT_RUNS_DIR)
    found = [_facts(place) for place in folder.glob("*") if is_run(place)] if folder.is_dir() else []
    found.sort(key=lambda facts: (str(facts["started"]), str(facts["run"])), reverse=True)
    told = [facts | {"problem": _problem(folder / str(facts["run"]))} for facts in found[:limit]]
    if as_json:
        output.document("runs", runs_dir=str(folder), runs=told)
        return
    output.table(COLUMNS, [_row(facts) for facts in told], columns=shown, least=LEAST)
    if len(found) > limit:
        output.note(f"{len(found) - limit} older.  All:  trace-bench runs --limit {len(found)}")
    if broken := next((facts for facts in told if facts["problem"]), None):
        output.note(f"Why it cannot be read:  {output.command('fsck', folder / str(broken['run']))}")
    if found:
        output.note(f"One of them:  {output.command('show', folder / str(found[0]['run']))}")
    else:
        output.note(
            f"No run in `{folder}`.  Start one:  trace-bench init config mine.yaml && trace-bench run --config mine.yaml"
        )


def _facts(place: Path) -> dict[str, Any]:
    """Read what a run says of itself; a file that is missing or damaged leaves its facts empty."""
    manifest, jobs = _manifest(place)
    summary = _read(place / "summary.json")
    counts = {status: n for status, n in _mapping(summary.get("counts")).items() if n}
    return {
        "run": place.name,
        "started": manifest.get("created_at"),
        "jobs": jobs,
        "counts": counts,
        "tasks": sorted(_mapping(manifest.get("tasks"))),
        "trainers": sorted(_mapping(manifest.get("trainers"))),
        "llm_calls": _mapping(_mapping(summary.get("usage")).get("total")).get("llm_calls"),
        "usd": _mapping(_mapping(summary.get("usage")).get("total")).get("usd"),
    }


def _problem(place: Path) -> str:
    """Return why a run cannot be read; empty where it can."""
    from tracebench_engine.api.records import load_run

    try:
        load_run(place)
    except TraceBenchError as err:
        return str(err)
    return ""


def _row(facts: Mapping[str, Any]) -> tuple[str, ...]:
    status = ", ".join(f"{n} {status}" for status, n in facts["counts"].items())
    calls = facts["llm_calls"]
    return (
        facts["run"],
        str(facts["started"] or "-")[:16].replace("T", " "),
        str(facts["jobs"]),
        "unreadable" if facts["problem"] else status or "no result yet",
        _named(facts["tasks"]),
        _named(facts["trainers"]),
        "-" if calls is None else str(calls),
        output.number(facts["usd"]),
    )


def _named(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" +{more}" if more > 0 else "")


def _manifest(place: Path) -> tuple[dict[str, Any], int]:
    """Return what a run's manifest says before it lists the jobs, and how many it lists."""
    from tracebench_engine.api.records import RunLayout, iter_job_lines, read_head

    layout = RunLayout(place)
    try:
        return read_head(layout), sum(1 for _ in iter_job_lines(layout))  # line by line: there may be 100,000
    except TraceBenchError:
        whole = _read(layout.manifest)
        jobs = whole.get("jobs")
        return whole, len(jobs) if isinstance(jobs, list) else 0


def _read(path: Path) -> dict[str, Any]:
    from tracebench_engine.api.records import read_whole

    try:
        return _mapping(json.loads(read_whole(path)))
    except (OSError, ValueError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
