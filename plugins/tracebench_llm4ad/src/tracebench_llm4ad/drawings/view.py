"""The view of a job: what its starting and its best candidate made of one held-out instance, side by side."""

from __future__ import annotations

from typing import Any

from tracebench_core.specs.events import BestChanged, CandidateSeen, SuiteRecord
from tracebench_llm4ad.drawings.svg import panels
from tracebench_runs import Run

RECORD = "drawing"


def picture(run: Run, job_id: str | None) -> str | None:
    """Return the pictures as SVG, the initial candidate on the left; None where none was kept."""
    if job_id is None:
        return None
    kept: dict[str, dict[str, Any]] = {}
    first = best = None
    for event in run.events(job_id):
        match event:
            case SuiteRecord() if event.name.rpartition(".")[2] == RECORD:
                kept[event.candidate] = event.data
            case CandidateSeen() if first is None:
                first = event.id
            case BestChanged():
                best = event.candidate
    best = run.results[job_id].best_candidate or best
    wanted = {name: what for name, what in ((best, "best"), (first, "initial")) if name in kept}
    shown = [(_heading(what, kept[name]), kept[name]["picture"]) for name, what in reversed(wanted.items()) if name]
    return panels(shown) if shown else None


def _heading(what: str, data: dict[str, Any]) -> str:
    return f"{what}: {data['metric']} {data['value']:.6g} on {data['case']}"
