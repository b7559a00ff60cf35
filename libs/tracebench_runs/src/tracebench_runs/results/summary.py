"""`summary.json`: how many jobs ended how, and what all of them used."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from tracebench_core import money
from tracebench_core.specs import Axis, JobStatus, Role, Salts
from tracebench_runs.results.rows import USAGE_COUNTS, RoleUsage, Row

STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
_ROLES: tuple[Role, ...] = get_args(Role)
_CONTENT = ("run_id", "jobs", "counts", "evaluations", "usage", "spent")
_ENDING = ("wall_seconds", "cpu_seconds", "exit_code", "overshoot", "salts")
"""How a run ended; the salts are told once it is over."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; all None while it is under way."""

    exit_code: int | None = None
    wall_seconds: float | None = None
    """Of the process that ran it, from start to end; of the last one when it was resumed."""
    cpu_seconds: float | None = None
    """Of that process and all of its children."""
    overshoot: dict[Axis, float] | None = None
    """How far the run went past its own caps, by axis; None where it was not told."""


def summary_bytes(
    rows: Collection[Row],
    *,
    run_id: str,
    jobs: int,
    end: RunEnd,
    spent: dict[str, Any] | None = None,
    salts: Salts | None = None,
) -> bytes:
    """Return `summary.json`; of `jobs` planned those without a row are `not_run`.

    `usage` is of the attempts that count, `spent` of all, by role and model: null where no ledger tells. `salts` are told once the
    run is over and no job is left to run.
    """
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row.status] += 1
    counts["not_run"] += jobs - len(rows)
    by_role = {role: [u for row in rows for u in row.usage if u.role == role] for role in _ROLES}
    everything = [usage for usages in by_role.values() for usage in usages]
    content = {
        "run_id": run_id,
        "jobs": jobs,
        "counts": counts,
        "evaluations": sum(row.evaluations for row in rows),
        "usage": {role: _sum(usages) for role, usages in by_role.items() if usages} | {"total": _sum(everything)},
        "spent": spent,
        **_ending(end, salts, is_all=not (counts["not_run"] or counts["cancelled"])),
    }
    return _text(content)


def ended_otherwise(summary: bytes, end: RunEnd, *, counts: Mapping[str, int], salts: Salts | None) -> bytes | None:
    """Return a summary with another end, and all else as it is; None where its `counts` are others, or its fields are not today's."""
    told = json.loads(summary)
    content = {name: value for name, value in told.items() if name not in _ENDING}
    if tuple(content) != _CONTENT or {k: v for k, v in told["counts"].items() if v} != {
        k: v for k, v in counts.items() if v
    }:
        return None
    return _text(content | _ending(end, salts, is_all=not (counts.get("not_run") or counts.get("cancelled"))))


def _ending(end: RunEnd, salts: Salts | None, *, is_all: bool) -> dict[str, Any]:
    is_over = end.exit_code is not None and is_all
    return {
        "wall_seconds": end.wall_seconds,
        "cpu_seconds": end.cpu_seconds,
        "exit_code": end.exit_code,
        "overshoot": end.overshoot,
        **({"salts": salts.model_dump()} if salts is not None and is_over else {}),
    }


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=2).encode() + b"\n"


def _sum(usages: list[RoleUsage]) -> dict[str, Any]:
    sums = {name: sum(u.counts[i] for u in usages) for i, name in enumerate(USAGE_COUNTS)}
    prices = [u.usd for u in usages if u.usd is not None]
    return {**sums, "usd": money.total(prices) if len(prices) == len(usages) else None}
