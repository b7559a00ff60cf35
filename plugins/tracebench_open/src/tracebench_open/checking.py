"""Runs beside what was promised: what is missing, what was run twice, what nobody promised."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from tracebench_engine.api.records import Run, findings_told, iter_lines, verify_run
from tracebench_open.registration import Registration, content_of, fingerprint, words_of

SOUND = "whole"
"""What `trace-bench verify` says of a run whose journal nothing speaks against. One without a chain has shed it: all runs after a
registration have one."""
NO_END = frozenset({"not_run", "skipped", "unscored"})
"""How a job may be told to stand without that anybody has seen its result."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How a promise was kept."""

    promised: int
    statuses: Counter[str]
    """How the promised jobs ended, those that are missing left out; a job of several runs as it ended in the first."""
    missing: tuple[str, ...]
    """Promised jobs that no run has ended, in words."""
    repeated: tuple[str, ...]
    """Promised jobs that ended several times, in several runs or in one: somebody could choose."""
    unpromised: tuple[str, ...]
    """Jobs of the runs that ended and were not promised."""
    early: tuple[str, ...]
    """Runs that began before the registration was written."""
    damaged: tuple[str, ...]
    """Runs whose files are not what their journal vouches for."""
    told: tuple[str, ...]
    """What differs and breaks no promise."""

    @property
    def is_whole(self) -> bool:
        """Whether all that was promised was run, once, and nothing else."""
        return not (self.missing or self.repeated or self.unpromised or self.early or self.damaged)


def compare(registration: Registration, runs: Sequence[Run]) -> Kept:
    """Compare what was promised with what some runs hold; the jobs of a damaged run count for nothing."""
    promised = {mark: words_of(series, seed) for mark, series, seed in registration.promised()}
    ended: dict[str, list[tuple[str, str]]] = defaultdict(list)
    unpromised: list[str] = []
    damaged: list[str] = []
    for run in runs:
        if words := _damage(run):
            damaged.append(f"{run.run_id}: {words}")
            continue
        times = _times_ended(run)
        for job in run.planned:
            if (status := run.results[job.job_id].status) == "not_run":
                continue
            source = run.manifest["tasks"].get(job.task_id, {}).get("source", "")
            mark = fingerprint(content_of(job, source=source), job.seed)
            if mark in promised:
                ended[mark] += [(run.run_id, status)] * max(1, times[job.job_id])
            else:
                unpromised.append(f"{job.task_id} x {job.called} seed={job.seed} in {run.run_id}")
    return Kept(
        promised=len(promised),
        statuses=Counter(found[0][1] for found in ended.values()),
        missing=tuple(words for mark, words in promised.items() if mark not in ended),
        repeated=tuple(
            f"{promised[mark]} in {', '.join(run for run, _ in found)}"
            for mark, found in ended.items()
            if len(found) > 1
        ),
        unpromised=tuple(unpromised),
        early=tuple(
            f"{run.run_id} began at {began(run).isoformat(timespec='seconds')}, the registration is of "
            f"{registration.registered_at.isoformat(timespec='seconds')}"
            for run in runs
            if began(run) < registration.registered_at
        ),
        damaged=tuple(damaged),
        told=tuple(_versions(registration, runs)),
    )


def _damage(run: Run) -> str:
    """Return what speaks against a run's files, damage that somebody accepted as well, or nothing."""
    found = verify_run(run.layout.path)
    if found.verdict != SOUND:
        return " ".join([f"{found.words}.", *findings_told(found.findings[:1])])
    return f"damage was accepted: {', '.join(sorted(run.trust.accepted))}." if run.trust.accepted else ""


def _times_ended(run: Run) -> Counter[str]:
    """Return how often each job of a sound run was ended: `--force` and `--failed` run it again and keep the last result."""
    found: Counter[str] = Counter()
    for path in run.layout.journals():
        for line in iter_lines(path):
            if b'"kind":"job_finished"' in line:
                record = json.loads(line)
                found[record["job"]] += record["status"] not in NO_END
    return found


def began(run: Run) -> datetime:
    """Return when a run began: as its manifest says or its journal does, whichever is earlier; a run may be extended later."""
    times = [datetime.fromisoformat(run.manifest["created_at"])]
    for line in (line for path in run.layout.journals() for line in islice(iter_lines(path), 1)):
        with suppress(ValueError, KeyError):  # a damaged journal is told elsewhere
            times.append(datetime.fromisoformat(json.loads(line)["t"]))
    return min(at if at.tzinfo is not None else at.replace(tzinfo=UTC) for at in times)


def _versions(registration: Registration, runs: Sequence[Run]) -> Iterator[str]:
    before = {*registration.plugins}
    for run in runs:
        other = sorted({*run.manifest.get("versions", {}).get("plugins", ())} - before)
        if other:
            yield f"{run.run_id} ran with {', '.join(other)}; registered: {', '.join(registration.plugins)}"
