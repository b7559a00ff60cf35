"""The views of a job: what its starting and its best candidate made of one instance, and what those that led made of the one followed.

The first is held out, where a run kept pictures of such; the one that is followed belongs to validation, or else to training.
"""

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
    kept: dict[bool, dict[str, dict[str, Any]]] = {True: {}, False: {}}
    first = best = None
    for event in run.events(job_id):
        match event:
            case SuiteRecord() if _is_drawing(event):
                kept[_is_held_out(event)][event.candidate] = event.data
            case CandidateSeen() if first is None:
                first = event.id
            case BestChanged():
                best = event.candidate
    best = run.results[job_id].best_candidate or best
    drawn = kept[True] or kept[False]  # without held-out instances the one that is followed
    wanted = {name: what for name, what in ((best, "best"), (first, "initial")) if name in drawn}
    shown = [(_heading(what, drawn[name]), drawn[name]["picture"]) for name, what in reversed(wanted.items()) if name]
    return panels(shown) if shown else None


def frames(run: Run, job_id: str | None) -> list[tuple[str, str]] | None:
    """Return the followed instance as candidates solved it that became the best, in that order, with their ids; None where none was kept.

    One that led by other instances alone, and did no better on this one than those before, has no picture.
    """
    if job_id is None:
        return None
    kept: dict[str, dict[str, Any]] = {}
    led: dict[str, None] = {}
    for event in run.events(job_id):
        match event:
            case SuiteRecord() if _is_drawing(event) and not _is_held_out(event):
                kept.setdefault(event.candidate, event.data)
            case BestChanged():
                led[event.candidate] = None
    shown = [(name, kept[name]) for name in led if name in kept]
    return [
        (name, panels([(f"{d['metric']} {d['value']:.6g} on {d['case']}", d["picture"])])) for name, d in shown
    ] or None


def _is_drawing(event: SuiteRecord) -> bool:
    return event.name.rpartition(".")[2] == RECORD


def _is_held_out(event: SuiteRecord) -> bool:
    return bool(event.data.get("held_out", True))  # earlier versions kept no others


def _heading(what: str, data: dict[str, Any]) -> str:
    return f"{what}: {data['metric']} {data['value']:.6g} on {data['case']}"
