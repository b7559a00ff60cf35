"""Evaluate a task without a trainer: all of a split at once, or on a workbench, one candidate after the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Feedback, Split, TaskSpec
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.job.workbench import Workbench as Workbench, open_workbench as open_workbench
from tracebench_engine.matrix.settings import resolve_options
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.values import breach as breach


def find_task(host: PluginHost, task_id: str, options: Mapping[str, Any]) -> TaskSpec:
    """Return the first task that an id means, which knows these options; it is not opened.

    Raises:
        ConfigError: for an option that the task does not know, or that it cannot take.
        UsageError: when nothing, or more than one thing, could be meant.
    """
    full_id = resolve_task_ids(host, task_id)[0]
    spec = host.task(full_id)
    if spec.options is not None:
        resolve_options(spec, task_id=full_id, shared={}, own=options, where="`--eval-kwargs`")
    return spec


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

    Raises:
        BrokenTaskError: when the task fails on its own initial candidate.
    """
    feedbacks = []
    with open_workbench(open_host(root=root), task_id, eval_kwargs=eval_kwargs, seed=seed, models=model) as bench:
        for result in bench.evaluate(values or {}, split=split):
            feedbacks.append(result.feedback)  # noqa: PERF401 - a comprehension is a further frame under every evaluation
    return feedbacks
