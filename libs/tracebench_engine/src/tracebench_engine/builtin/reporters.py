"""Views of a run under way as text: one line per change, or JSON Lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine.run.control_follow import Notices

SCHEMA_VERSION = 1
log = logging.getLogger(__name__)


class Outlet:
    """Lines to a stream, each at once. It falls silent when the stream fails: a run does not end because nobody watches it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream

    def write(self, line: str) -> None:
        """Write one line."""
        if self._stream is None:
            return
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except OSError as err:
            self._stream = None
            if not isinstance(err, BrokenPipeError):
                log.warning("progress is no longer shown: %s", err.strerror)


class PlainReporter:
    """One line when a job ends or has to be looked after, and a summary."""

    def __init__(self, stream: TextIO) -> None:
        self._outlet = Outlet(stream)
        self._notices = Notices(lambda job, words: self._outlet.write(f"{called(job)}: {words}"))
        self._jobs = 0
        self._done = 0

    def run_started(self, run_dir: Path, jobs: int) -> None:
        """Say where the run lies."""
        self._jobs = jobs
        self._notices.begin(run_dir)
        self._outlet.write(f"run {run_dir.name}: {jobs} {'job' if jobs == 1 else 'jobs'} in {run_dir}")

    def job_started(self, job: JobSpec) -> None:
        """Follow what it wants said; its start is not worth a line."""
        self._notices.follow(job)

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        """Say how a job ended."""
        self._notices.end(job)
        self._done += 1
        self._outlet.write(f"[{self._done}/{self._jobs}] {outcome(job, result)}")

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        """Say how many jobs ended how."""
        self._notices.close()
        self._outlet.write(f"run {run_dir.name}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))


class JsonReporter:
    """One JSON object per change."""

    def __init__(self, stream: TextIO) -> None:
        self._outlet = Outlet(stream)
        self._notices = Notices(lambda job, words: self._write({"event": "notice", "job": job.job_id, "words": words}))

    def run_started(self, run_dir: Path, jobs: int) -> None:
        """Write `run_started`."""
        self._notices.begin(run_dir)
        self._write({"event": "run_started", "run_dir": str(run_dir), "jobs": jobs})

    def job_started(self, job: JobSpec) -> None:
        """Write `job_started`."""
        self._notices.follow(job)
        self._write(
            {
                "event": "job_started",
                "job": job.job_id,
                "task": job.task_id,
                "trainer": job.trainer_id,
                "label": job.label,
                "seed": job.seed,
            }
        )

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        """Write `job_finished` with the whole result."""
        self._notices.end(job)
        self._write({"event": "job_finished", "job": job.job_id, "result": result.model_dump(mode="json")})

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        """Write `run_finished`, with the verdict on the trainers."""
        self._notices.close()
        from tracebench_engine.builtin.verdict import verdict_at_end  # noqa: PLC0415 - before the end nothing is compared

        verdict = verdict_at_end(run_dir).model_dump(mode="json")
        self._write({"event": "run_finished", "run_dir": str(run_dir), "counts": dict(counts), "verdict": verdict})

    def _write(self, record: dict[str, object]) -> None:
        self._outlet.write(json.dumps({"schema_version": SCHEMA_VERSION, **record}))


def called(job: JobSpec) -> str:
    """Return how lines name a job."""
    return f"{job.task_id} x {job.called} seed={job.seed}"


def outcome(job: JobSpec, result: JobResult) -> str:
    """Return one line on how a job ended."""
    name = called(job)
    if result.status == "ok":
        found = f"{shown(result.score_val_initial)} → {shown(result.score_val_best)}"
        return f"ok {name}: {found} ({result.stop_reason}, {result.time_seconds:.1f} s){_remarks(result)}"
    return f"{result.status} {name}: {result.feedback or result.stop_reason}"


def _remarks(result: JobResult) -> str:
    """Return what became of a job's proposals, and what it is flagged with."""
    counts = result.proposals
    parts = [f"{counts.usable} of {counts.asked} proposals usable"] if counts.asked else []
    parts += [f"{n} {what}" for what, n in (("duplicate", counts.duplicate), ("invalid", counts.invalid)) if n]
    parts += [f"flagged {', '.join(result.flags)}"] if result.flags else []
    return "; " + ", ".join(parts) if parts else ""


def shown(score: float | None) -> str:
    """Return a score as screens show it; what was not measured is a hyphen."""
    return "-" if score is None else f"{score:.6g}"
