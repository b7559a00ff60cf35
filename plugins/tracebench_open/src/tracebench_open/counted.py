"""Which score of a job is compared: that on test where its task has a test split, else that on what winners were chosen on.

The library's own way to say so; the checker of pages, which nothing of ours may help, has another (`bench/alone/receipts.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set as AbstractSet

from tracebench_core.specs import JobResult
from tracebench_engine.api.records import Run


def without_test(run: Run) -> AbstractSet[str]:
    """Return the tasks of a run that have no test split, as its jobs tell of the examples that they found.

    A job that failed before it was scored tells of none, and what its fellows found holds for it. Where none of a task's jobs tells of any,
    as in runs of before this was told, the task counts as one with a test split.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for job in run.planned:
        found[job.task_id] |= run.results[job.job_id].data.keys()
    return {task for task, splits in found.items() if splits and "test" not in splits}


def counted(result: JobResult, tasks_without_test: AbstractSet[str]) -> float | None:
    """Return the score of a job that is compared; None where it was not measured, whatever else was."""
    return result.score_val_best if result.task_id in tasks_without_test else result.score_test
