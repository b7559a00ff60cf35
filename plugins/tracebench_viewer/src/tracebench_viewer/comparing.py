"""A comparison as the page shows it: computed by the core once, kept in the index, and read from there as long as no run changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import yaml

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Axis
from tracebench_engine.api.analysis import Tracks, compare_runs, comparison_data, curve_rows, figures, sections
from tracebench_engine.api.records import Run
from tracebench_viewer.index import Index
from tracebench_viewer.look import NOTHING

DRAWN = 3
"""Rises when what is kept of a comparison is drawn or laid out anew."""


def compared(
    index: Index, runs: Sequence[Run], *, stamps: Iterable[str], baseline: str | None, axis: Axis
) -> dict[str, Any]:
    """Return `data` (as `compare --json`), `tables`, `curves` (rows by axis), `figures` (Vega-Lite with captions) and `changes`.

    Raises:
        UsageError: when the runs may not be pooled or hold nothing to compare.
    """
    key = key_of([run.run_id for run in runs], stamps=stamps, baseline=baseline, axis=axis)
    kept = index.kept(key)
    if kept is None:
        kept = compute(runs, baseline=baseline, axis=axis)
        index.keep(key, kept)
    return dict(kept)


def key_of(run_ids: Sequence[str], *, stamps: Iterable[str], baseline: str | None, axis: Axis) -> str:
    """Return what a comparison is kept under: whatever changes what it shows changes this."""
    what = ["comparison", version("tracebench-core"), DRAWN, [*run_ids], [*stamps], baseline, axis]
    return content_hash(canonical_json(what))


def compute(runs: Sequence[Run], *, baseline: str | None, axis: Axis) -> dict[str, Any]:
    """Return a comparison as `compared` does, made anew.

    Raises:
        UsageError: when the runs may not be pooled or hold nothing to compare.
    """
    comparison = compare_runs(runs, baseline=baseline, axis=axis)
    drawn = figures(runs, comparison)
    return {
        "data": comparison_data(comparison),
        "tables": [asdict(section) for section in sections(runs, comparison)],
        "entrants": [summary.standing.entrant for summary in comparison.summaries],
        "curves": curve_rows(Tracks(runs, comparison.outcomes), comparison),
        "figures": {
            name: {"spec": json.loads(figure.chart.to_json(validate=False)), "caption": figure.caption}
            for name, figure in drawn.items()
        },
        "changes": [asdict(change) | {"is_worse": change.is_worse} for change in comparison.changes],
    }


def config_differences(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return the fields in which the configs of runs differ, with each run's value; equal fields are left out."""
    flat = {run.run_id: dict(_flat(_config(run))) for run in runs}
    names = sorted({name for fields in flat.values() for name in fields} - {"run_id", "runs_dir"})
    rows = []
    for name in names:
        values = {run_id: fields.get(name, NOTHING) for run_id, fields in flat.items()}
        if len({*values.values()}) > 1:
            rows.append({"field": name, **values})
    return rows


def _config(run: Run) -> Any:
    try:
        return yaml.safe_load(run.layout.config_snapshot.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for i, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{i}]")
    else:
        yield path, json.dumps(value, ensure_ascii=False, default=str)
