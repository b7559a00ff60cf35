"""What must hold of a simulated run whatever happened to it; each law yields a sentence for each time that it is broken."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_engine.matrix.plan import Plan
from tracebench_engine.run.runner import RunSummary
from tracebench_runs.check.fsck import check_run
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.journal.trust import end_records
from tracebench_runs.results.results import read_result
from tracebench_runs.storage.layout import RunLayout

FORGED = b"99.0"
"""How a forged score is written."""


def unfinished(layout: RunLayout, plan: Plan) -> bool:
    """Say whether a job is not declared `ok`."""
    ends = end_records(layout.path)
    return any(job.job_id not in ends or ends[job.job_id].status != "ok" for job in plan.jobs)


def statuses(layout: RunLayout) -> list[str]:
    """Return how the jobs of a run stand, sorted."""
    return sorted(end.status for end in end_records(layout.path).values())


def what_was_ok_stays(before: Mapping[str, EndRecord], now: Mapping[str, EndRecord]) -> Iterator[str]:
    """What was declared ok stays declared, by the same result."""
    for job_id, end in before.items():
        if end.status == "ok" and now.get(job_id) != end:
            yield f"job {job_id} was declared ok, and is now {now.get(job_id)}"


def all_agree(layout: RunLayout, summary: RunSummary) -> Iterator[str]:
    """Journal, results and summary say the same, and no `ok` is without a score."""
    told = json.loads(layout.summary.read_bytes())["counts"]
    if {k: n for k, n in told.items() if n} != {k: n for k, n in summary.counts.items() if n}:
        yield f"the summary says {told}, the run {summary.counts}"
    for job_id, status in summary.statuses.items():
        result = read_result(layout.job(job_id)).result
        if result.status != status:
            yield f"job {job_id}: the run says {status}, its result {result.status}"
        if result.status == "ok" and result.score_test is None:
            yield f"job {job_id} is ok without a score"


def forged_nowhere(layout: RunLayout) -> Iterator[str]:
    """No forged score is a result."""
    for path in layout.path.glob("jobs/*/results.json"):
        if FORGED in path.read_bytes():
            yield "a forged score is a result"


def ok_once(layout: RunLayout) -> Iterator[str]:
    """No job is declared ok twice."""
    oks = Counter(
        record["job"]
        for line in layout.journal("main").read_bytes().splitlines()
        if line.endswith(b'"}') and (record := json.loads(line)).get("status") == "ok"
    )
    yield from (f"job {job} was declared ok {n} times" for job, n in oks.items() if n > 1)


def nothing_to_mend(layout: RunLayout) -> Iterator[str]:
    """A run that was resumed in peace needs no repair; what stays a fact, as a torn line does, is none."""
    for finding in check_run(layout.path):
        if finding.mended_by not in {"nothing", "accept"}:
            yield f"fsck: {finding.code} {finding.path} {finding.message}"


def as_expected(found: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """What follows from the run is what follows from one that nobody disturbed."""
    yield from (f"{name}: {found.get(name)} != {value}" for name, value in expected.items() if found.get(name) != value)


def outcome(layout: RunLayout, plan: Plan) -> dict[str, Any]:
    """Return what follows from a run, without how it came about."""
    found: dict[str, Any] = {}
    for job in plan.jobs:
        of_job = layout.job(job.job_id)
        if not of_job.results.exists():
            found[job.job_id] = None
            continue
        result = read_result(of_job).result
        found[job.job_id] = (
            result.status,
            result.score_test,
            result.score_val_best,
            result.best_candidate,
            result.used.evaluations,
            sum(b'"by":"trainer"' in line for line in of_job.events.read_bytes().splitlines()),
        )
        for path in sorted(of_job.artifacts.glob("*")):
            found[f"{job.job_id}/{path.name}"] = path.read_bytes()
    return found
