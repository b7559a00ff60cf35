"""The table of experiments: `results.tsv` as autoresearch's users know it, and the same as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_autoresearch.history.reading import Experiment, History

COLUMNS = ("commit", "metric", "runs", "memory_mb", "status", "description")
_MEMORY = ("peak_memory_mb", "peak_vram_mb", "memory_mb", "memory_gb")


def rows(history: History, commits: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield one row for each experiment, oldest first. Without a commit an experiment goes by its candidate's id."""
    for one in history.experiments:
        yield (
            commits.get(one.candidate, one.candidate)[:10],
            "-" if one.value is None else f"{one.value:.6f}",
            str(len(one.values)),
            _memory(one),
            one.status,
            " ".join(one.description.split()),
        )


def records(history: History, commits: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the same with everything that is known, as plain data; `confirmed` is None where nothing was confirmed or refuted."""
    standing = {edit.candidate: edit.confirmed for edit in history.confirmation.edits} if history.confirmation else {}
    for one in history.experiments:
        yield {
            "number": one.number,
            "candidate": one.candidate,
            "commit": commits.get(one.candidate),
            "metric": history.metric,
            "direction": history.direction,
            "self_reported": history.self_reported,
            "value": one.value,
            "values": one.values,
            "spread": one.spread,
            "status": one.status,
            "outcome": one.outcome,
            "verdict": one.verdict or None,
            "reason": one.reason,
            "description": one.description,
            "beside": one.beside,
            "time": one.time,
            "confirmed": standing.get(one.candidate),
        }


def _memory(one: Experiment) -> str:
    found = (one.mean_of(name) for name in _MEMORY)
    return next((f"{value:.1f}" for value in found if value is not None), "-")
