"""Evaluate a task without a trainer, for programs that want only the tasks."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracebench_core.engine.doors import LazySandbox
from tracebench_core.engine.evaluate import EvaluationContext, evaluate_example, refused
from tracebench_core.engine.models import Models, NoModels
from tracebench_core.engine.opening import open_task
from tracebench_core.engine.values import breach
from tracebench_core.ids import derive_seed
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Feedback, SandboxConfig, Split, Values


def evaluate_values(
    host: PluginHost,
    task_id: str,
    values: Mapping[str, Any] | None = None,
    *,
    split: Split = "train",
    eval_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    models: Models | None = None,
) -> list[Feedback]:
    """Return the guide's feedback per example of a split; parameters that `values` leaves out keep their initial value."""
    full_id = resolve_task_ids(host, task_id)[0]
    opened = open_task(host, full_id, eval_kwargs=eval_kwargs or {})
    full: Values = {p.name: p.initial for p in opened.task.parameters} | dict(values or {})
    examples = opened.test if split == "test" else tuple(opened.task.splits.get(split, ()))
    why = breach(opened.task.parameters, full)
    sandbox = LazySandbox(SandboxConfig(), address=None, preload=opened.spec.sandbox or ())
    with tempfile.TemporaryDirectory(prefix="trace-bench-") as folder:
        try:
            return [
                (
                    refused(example, split=split, why=why)
                    if why
                    else evaluate_example(
                        opened.task,
                        full,
                        example=example,
                        split=split,
                        guide=opened.guide,
                        context=EvaluationContext(
                            seed=derive_seed(seed, "evaluation", example.id, 0),
                            sandbox=sandbox,
                            workdir=Path(folder),
                            models=models or NoModels(),
                            phase="training",
                        ),
                    )
                ).feedback
                for example in examples
            ]
        finally:
            sandbox.close()
