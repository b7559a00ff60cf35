"""What past runs teach about the jobs of a plan: tokens and seconds per call, seconds per evaluation, spread over seeds."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tracebench_analysis.statistics.resolution import Spread, pooled_spread
from tracebench_analysis.statistics.rounding import settled, size_of
from tracebench_core.errors import RunDirError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import JobResult, JobSpec, Mode, Range, Role, Usage
from tracebench_core.specs.events import EvaluationDone, LLMCall
from tracebench_runs.reading.reader import Run, load_run
from tracebench_runs.results.results import read_result
from tracebench_runs.results.rows import GroupKey, TaskKey, group_of

MOST_RUNS = 50
"""The newest runs that are looked at."""
MOST_JOBS = 20
"""Jobs of one task and trainer whose events are read."""


SettingsKey = tuple[Mode, str, str, str]


class Caller(NamedTuple):
    """Who called which model."""

    task_id: str
    trainer_id: str
    role: Role
    model: str


class Kind(NamedTuple):
    """What jobs must have in common for one to tell of another."""

    task_id: str
    trainer_id: str
    mode: Mode


class CallCost(NamedTuple):
    """Means per call: tokens and seconds."""

    prompt: float
    completion: float
    cached: float
    seconds: float


class WorkDone(NamedTuple):
    """What the training of one job used."""

    evaluations: int
    llm_calls: int
    """Of the role `optimizer`."""
    is_complete: bool = True
    """It ended by itself, and not at a budget."""


@dataclass(slots=True)
class History:
    """Means per job, so that a range over jobs shows how jobs differ."""

    calls: dict[Caller, list[CallCost]] = field(default_factory=lambda: defaultdict(list))
    evaluation_seconds: dict[tuple[str, Mode], list[float]] = field(default_factory=lambda: defaultdict(list))
    program_calls: dict[Kind, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Calls of the roles `agent` and `judge` per evaluation."""
    done: dict[SettingsKey, list[WorkDone]] = field(default_factory=lambda: defaultdict(list))
    """By mode, task, trainer and settings."""
    scores: dict[tuple[TaskKey, Mode], dict[tuple[str, GroupKey], list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    jobs: int = 0
    """How many past jobs were read."""

    def spread(self, task: TaskKey, mode: Mode) -> Spread | None:
        """Return the spread of a task's scores over seeds, pooled over the trainers that were run on it.

        A trainer whose seeds all score alike (one that changes nothing) says nothing of the others, and is left out.
        """
        return pooled_spread(
            g for g in self.scores.get((task, mode), {}).values() if len({*settled(g, size=size_of(g))}) > 1
        )

    def work(self, job: JobSpec) -> list[WorkDone]:
        """Return what past jobs used that had the same mode, task, trainer and settings."""
        return self.done.get(settings_key(job), [])


def read_history(runs_dir: Path, jobs: Sequence[JobSpec]) -> History:
    """Read what the newest runs tell about jobs like these; runs and jobs that cannot be read are passed over."""
    history = History()
    wanted = {kind_of(job) for job in jobs}
    tasks = {job.task_id for job in jobs}
    read: Counter[Kind] = Counter()
    for run in _newest(runs_dir):
        try:
            past = [job for job in run.planned if job.task_id in tasks]
        except RunDirError:
            continue
        for job in past:
            kind = kind_of(job)
            try:
                result = read_result(run.layout.job(job.job_id)).result
                if result.status not in {"ok", "timeout"}:
                    continue
                if kind in wanted and read[kind] < MOST_JOBS:
                    _take_events(history, run, job)
                    _take_work(history, job, result)
                    read[kind] += 1
            except RunDirError:
                continue
            _take_score(history, run.run_id, job, result)
    return history


def kind_of(job: JobSpec) -> Kind:
    """Return what makes another job comparable in cost."""
    return Kind(job.task_id, job.trainer_id, job.mode)


def range_of(values: Iterable[float]) -> Range | None:
    """Return least, mean and most of measured values; None when there are none."""
    found = list(values)
    return Range(low=min(found), likely=math.fsum(found) / len(found), high=max(found)) if found else None


def _newest(runs_dir: Path) -> Iterator[Run]:
    manifests = [(path.stat().st_mtime, path) for path in runs_dir.glob("*/meta/manifest.json")]
    for _, path in sorted(manifests, reverse=True)[:MOST_RUNS]:
        try:
            yield load_run(path.parent.parent)
        except RunDirError:
            continue


def _take_score(history: History, run_id: str, job: JobSpec, result: JobResult) -> None:
    score = result.score_test if result.score_test is not None else result.score_val_best
    if score is not None and math.isfinite(score):
        group = group_of(job)
        history.scores[group.task, job.mode][run_id, group].append(score)


def _take_work(history: History, job: JobSpec, result: JobResult) -> None:
    used = result.usage.get("optimizer", Usage())
    history.done[settings_key(job)].append(
        WorkDone(result.used.evaluations, used.llm_calls + used.cached_calls, result.stop_reason == "completed")
    )


def _take_events(history: History, run: Run, job: JobSpec) -> None:
    calls: dict[Caller, list[LLMCall]] = defaultdict(list)
    evaluations: list[float] = []
    by_program = 0
    for event in run.events(job.job_id):
        match event:
            case EvaluationDone():
                evaluations.append(event.seconds)
            case LLMCall(status="ok", cached=False):
                calls[Caller(job.task_id, job.trainer_id, event.role, event.model)].append(event)
                by_program += event.role != "optimizer"
    history.jobs += 1
    for caller, made in calls.items():
        history.calls[caller].append(
            CallCost(*(math.fsum(values) / len(made) for values in zip(*map(_numbers, made), strict=True)))
        )
    if evaluations:
        mean = math.fsum(evaluations) / len(evaluations)
        history.evaluation_seconds[job.task_id, job.mode].append(mean)
        history.program_calls[kind_of(job)].append(by_program / len(evaluations))


def _numbers(call: LLMCall) -> tuple[float, float, float, float]:
    return call.prompt_tokens, call.completion_tokens, call.cached_tokens, call.seconds


def settings_key(job: JobSpec) -> SettingsKey:
    """Return what makes the work of another job the same work."""
    return (
        job.mode,
        job.task_id,
        job.trainer_id,
        canonical_json([job.settings, job.optimizer, job.eval_kwargs]).decode(),
    )
