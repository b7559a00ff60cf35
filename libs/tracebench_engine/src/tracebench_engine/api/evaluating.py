"""Evaluate a task without a trainer: all of a split at once, or on a workbench, one candidate after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.specs import Feedback, Split
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.job.evaluation import Workbench, evaluate_values, open_workbench
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.values import breach

__all__ = ["Workbench", "breach", "evaluate_task", "open_workbench"]


def evaluate_task(
    task_id: str,
    values: Mapping[str, Any] | None = None,
    *,
    split: Split = "train",
    eval_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    root: Path | None = None,
    model: Models | None = None,
) -> list[Feedback]:
    """Return the guide's feedback per example of a split, without a trainer or a run.

    Parameters that `values` leaves out keep their initial value. A task that asks a model needs `model`, such as
    `tracebench_testing.FakeModel`; it answers every role.
    """
    host = open_host(root=root)
    return evaluate_values(host, task_id, values, split=split, eval_kwargs=eval_kwargs, seed=seed, models=model)
