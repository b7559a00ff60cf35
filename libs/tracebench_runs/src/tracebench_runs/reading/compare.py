"""Two results, or two runs, apart from when and how fast they were measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tracebench_core.ids import canonical_json
from tracebench_core.specs import JobResult, JobSpec
from tracebench_runs.reading.reader import Run

IDENTITY = ("job_id", "mode")
"""Of a result, what a replay changes beside the times: a job's id contains its mode and its model."""
OF_THE_INSTALLATION = ("judge", "calibration", "runtime")
"""Of a result, what another installation changes: who judges, where that was calibrated, what the job ran with."""
NOT_OF_THE_RESULT = ("isolation", "plugin")
"""Of a result's versions, what the machine decides, and what is installed: a task says itself what of it makes scores another thing."""
WHAT_IS_RUN = {
    "task_id",
    "trainer_id",
    "params",
    "optimizer",
    "guide",
    "guide_kwargs",
    "seed",
    "budget",
    "llm_variant",
    "start",
}
"""Of a job, what makes it the same one in another mode; a trainer's settings as written, for a later version may know more of them."""
RESOLVED = ("optimizer_kwargs", "eval_kwargs")
"""The settings of optimizer and task, which a job has with their defaults."""


class RecordedJobs:
    """The jobs of a run, found by what they have in common with those that repeat them in another mode.

    A setting of an optimizer or a task that the run's version did not know tells nothing apart: it was added since, with a default.
    """

    def __init__(self, jobs: Iterable[JobSpec]) -> None:
        jobs = list(jobs)
        self._known: dict[tuple[str, str | None], set[str]] = {}
        for job in jobs:
            for name, of in _owners(job):
                self._known.setdefault((name, of), set()).update(getattr(job, name))
        self._ids = {self._key(job): job.job_id for job in jobs}

    def find(self, job: JobSpec) -> str:
        """Return the id of the job that this one repeats; empty when none was like it."""
        return self._ids.get(self._key(job), "")

    def _key(self, job: JobSpec) -> bytes:
        key = job.model_dump(mode="json", include=WHAT_IS_RUN)
        for name, of in _owners(job):
            known = self._known.get((name, of), set())
            key[name] = {k: v for k, v in getattr(job, name).items() if k in known}
        return canonical_json(key)


def _owners(job: JobSpec) -> Iterator[tuple[str, str | None]]:
    """Yield each field of resolved settings with the name of what they are settings of."""
    yield from zip(RESOLVED, (job.optimizer, job.task_id), strict=True)


class Difference(NamedTuple):
    """One field in which a job of two runs differs; `field` is `job` for a job that only one of them has."""

    job: JobSpec
    field: str
    one: Any
    other: Any


def without_times(result: JobResult) -> dict[str, Any]:
    """Return a result as JSON data without its times; the traceback, which names addresses and paths, goes with them.

    So does how much was reused, which depends on what was interrupted.
    """
    data = result.model_dump(mode="json")
    for name in ("time_seconds", "started_at", "ended_at", "reused"):
        del data[name]
    del data["used"]["seconds"], data["usage_selection"]["seconds"]
    data["overshoot"].pop("seconds", None)
    for step in data["steps"]:
        del step["seconds"], step["used"]["seconds"]
    if data["error"] is not None:
        del data["error"]["traceback"]
    return data


def without_identity(result: JobResult) -> dict[str, Any]:
    """Return a result as JSON data without its times, and without what another mode or another machine changes."""
    left_out = {*IDENTITY, *OF_THE_INSTALLATION}
    data = {name: value for name, value in without_times(result).items() if name not in left_out}
    data["versions"] = {name: value for name, value in result.versions.items() if name not in NOT_OF_THE_RESULT}
    return data


def differences(one: Run, other: Run) -> Iterator[Difference]:
    """Yield where jobs of two runs differ, apart from times and identity; jobs are paired by what they run.

    A field that the version which wrote the first run did not know is no difference, nor is a job that it did not run.
    """
    recorded = RecordedJobs(one.planned)
    repeats = {recorded.find(job): job for job in other.planned}
    for job in one.planned:
        repeat = repeats.get(job.job_id)
        if repeat is None:
            if one.results[job.job_id].status != "not_run":
                yield Difference(job, "job", job.job_id, None)
            continue
        ours = _known(without_identity(one.results[job.job_id]), _written(one.results[job.job_id]))
        yours = _known(without_identity(other.results[repeat.job_id]), ours)
        yield from (Difference(job, name, ours[name], yours[name]) for name in ours if ours[name] != yours[name])
    for job in other.planned:
        if not recorded.find(job):
            yield Difference(job, "job", None, job.job_id)


def _written(result: JobResult) -> dict[str, Any]:
    """Return the fields of a result that stood in its file."""
    return result.model_dump(mode="json", exclude_unset=True)


def _known(data: Any, pattern: Any) -> Any:
    """Return what the pattern has, too, at any depth of objects."""
    if isinstance(data, dict) and isinstance(pattern, dict):
        return {name: _known(value, pattern[name]) for name, value in data.items() if name in pattern}
    return data
