"""The view of a job: what the agent said, typed and saw under the best candidate, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracebench_core.specs.events import BestChanged, SuiteRecord
from tracebench_runs import Run
from tracebench_terminalbench.transcript import clipped, parts_of, steps, typed_by, whole

RECORD = "trials"
LONGEST = 1_000
"""Characters of a cell."""
COLUMNS = ("task", "trial", "step", "by", "said", "typed", "shown")


def view(run: Run, job_id: str | None) -> dict[str, list[Any]] | None:
    """Return the steps as columns; None for a whole run, and where no trajectory was kept."""
    if job_id is None:
        return None
    kept: dict[str, dict[str, SuiteRecord]] = {}
    best = None
    for event in run.events(job_id):
        if isinstance(event, SuiteRecord) and event.name.rpartition(".")[2] == RECORD:
            kept.setdefault(event.candidate, {})[event.example] = event
        elif isinstance(event, BestChanged):
            best = event.candidate
    best = run.results[job_id].best_candidate or best
    if best not in kept:
        best = next(reversed(kept), None)
    artifacts = run.layout.job(job_id).artifacts
    rows = [row for record in kept.get(best or "", {}).values() for row in _trials(record, artifacts)]
    return {name: [row[name] for row in rows] for name in COLUMNS} if rows else None


def _trials(record: SuiteRecord, artifacts: Path) -> Iterator[Mapping[str, Any]]:
    home = artifacts.resolve()
    folder = (home / str(record.data.get("transcript", ""))).resolve().parent
    names = record.data.get("trials")
    if not folder.is_relative_to(home) or not isinstance(names, list):
        return
    for name in map(str, names):
        for file in sorted(folder.rglob("trajectory.json")):
            if name in file.relative_to(folder).parts:
                for step in steps(file):
                    yield {"task": record.example, "trial": name, **_row(step)}


def _row(step: Mapping[str, Any]) -> dict[str, Any]:
    typed = [typed_by(call) or "" for call in parts_of(step, "tool_calls")]
    shown = [whole(result.get("content")) for result in parts_of(step.get("observation"), "results")]
    number = step.get("step_id")
    return {
        "step": number if isinstance(number, int) else None,
        "by": clipped(whole(step.get("source")), LONGEST),
        "said": clipped(whole(step.get("message")), LONGEST),
        "typed": clipped("\n".join(typed), LONGEST),
        "shown": clipped("\n".join(shown), LONGEST),
    }
