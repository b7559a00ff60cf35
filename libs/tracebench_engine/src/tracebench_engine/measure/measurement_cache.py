"""Reuse of measurements across restarts and extensions of a run.

Only for tasks that call themselves deterministic, and of their training split: an evaluation is taken over where task, version, options,
guide, values, example and the seed of the evaluation are the same, and no model was asked. Validation and test, by which a winner is
chosen and judged, are always measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Candidate, Example, ExampleResult, Feedback, JobOrder, JobSpec, TaskSpec
from tracebench_runs.events.measured import DIGITS, Measured
from tracebench_runs.meta.planned import series_of
from tracebench_runs.storage.layout import RunLayout


class MeasurementCache:
    """What earlier attempts have measured of one task."""

    def __init__(self, identity: Any, earlier: Measured) -> None:
        """`identity` is JSON data that is equal where measurements may be taken over."""
        self._identity = content_hash(canonical_json(identity))
        self._earlier = earlier
        self._examples: dict[str, str] = {}

    def key(self, candidate: Candidate, example: Example, seed: int) -> str:
        """Return what stands for an evaluation; empty where its values cannot be told apart by their text."""
        try:
            told = canonical_json([self._identity, candidate.values, self._content(example), seed])
        except (TypeError, ValueError):
            return ""
        return content_hash(told)[:DIGITS]

    def find(self, key: str) -> ExampleResult | None:
        """Return an evaluation of before, marked as reused."""
        found = self._earlier.find(key) if key else None
        if found is None:
            return None
        event = found.event
        feedback = Feedback(score=event.score, text=event.feedback, metrics=event.metrics, status=event.status)
        return ExampleResult(
            example=event.example,
            split=event.split,
            feedback=feedback,
            seconds=0.0,
            reused=True,
            reused_from=found.source,
        )

    def _content(self, example: Example) -> str:
        """Return an example's id, and its content where that is data: what is not follows from the task's version and options."""
        if example.id not in self._examples:
            try:
                content = content_hash(canonical_json([example.input, example.reference]))
            except (TypeError, ValueError):
                content = ""
            self._examples[example.id] = f"{example.id}/{content}"
        return self._examples[example.id]


def open_measurement_cache(order: JobOrder) -> MeasurementCache:
    """Return what earlier attempts at a job, and the relatives that its order names, have measured."""
    job, layout = order.job, RunLayout(Path(order.run_dir))
    attempts = [*layout.job(job.job_id).earlier_attempts(), *map(layout.job, order.relatives)]
    return MeasurementCache([*_measured(job), job.plugin_version, order.isolation], Measured(attempts))


def relatives(
    jobs: Sequence[JobSpec], tasks: Mapping[str, TaskSpec], finished: Iterable[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return by job which finished jobs have measured the same task with the same seed; only of deterministic tasks."""
    done = set(finished)
    groups: dict[tuple[bytes, int], list[str]] = defaultdict(list)
    wanting: dict[str, tuple[bytes, int]] = {}
    if not done:
        return {}
    for part in series_of(jobs):
        if tasks[part.like.task_id].deterministic:
            measured = canonical_json(_measured(part.like))
            for job_id, seed in zip(part.ids, part.seeds, strict=True):
                if job_id in done:
                    groups[measured, seed].append(job_id)
                else:
                    wanting[job_id] = measured, seed
    return {job_id: tuple(groups[group]) for job_id, group in wanting.items() if group in groups}


def _measured(job: JobSpec) -> list[Any]:
    return [
        job.task_id,
        job.task_version.model_dump(mode="json"),
        job.salt,
        job.eval_kwargs,
        job.guide,
        job.guide_kwargs,
    ]
