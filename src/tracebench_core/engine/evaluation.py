"""Evaluate a task without a trainer, for programs that want only the tasks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracebench_core import temporary
from tracebench_core.engine.context import Environments, NoEnvironments, Shared
from tracebench_core.engine.doors import LazySandbox
from tracebench_core.engine.models import Models, NoModels
from tracebench_core.engine.opening import open_task
from tracebench_core.engine.service import EvaluationService
from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import Candidate, ExecutorSetting, Feedback, SandboxConfig, Split, TaskSpec, Values


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
    """Return the guide's feedback per example of a split; parameters that `values` leaves out keep their initial value.

    Raises:
        BrokenTaskError: when the task fails on its own initial candidate.
    """
    full_id = resolve_task_ids(host, task_id)[0]
    opened = open_task(host, full_id, eval_kwargs=eval_kwargs or {})
    initial = Candidate(id="c0", values={p.name: p.initial for p in opened.task.parameters})
    full: Values = initial.values | dict(values or {})
    candidate = initial if full == initial.values else Candidate(id="c1", values=full)
    examples = opened.test if split == "test" else tuple(opened.task.splits.get(split, ()))
    sandbox = LazySandbox(SandboxConfig(), address=None, preload=opened.spec.sandbox or ())
    with tempfile.TemporaryDirectory(prefix=temporary.prefix()) as name:
        folder = Path(name)
        try:
            with _environments(opened.spec, full_id, folder, seed=seed) as environments:
                shared = Shared(
                    models=models or NoModels(),
                    sandbox=sandbox,
                    workdir=folder / "work",
                    artifacts=folder / "artifacts",
                    environments=environments,
                )
                service = EvaluationService(
                    opened.task, opened.guide, shared, spec=opened.spec, initial=initial, seed=seed
                )
                works = [(example, split) for example in examples]
                return [result.result().feedback for result in service.begin(candidate, works, phase="training")]
        finally:
            sandbox.close()
            opened.close()


@contextmanager
def _environments(spec: TaskSpec, task_id: str, folder: Path, *, seed: int) -> Iterator[Environments]:
    """Yield the environments that a task names, held by a process of their own."""
    if not spec.environments:
        yield NoEnvironments()
        return
    from tracebench_core.engine.environments.client import (  # noqa: PLC0415 - few tasks name any
        EnvironmentProcess,
        JobEnvironments,
    )

    process = EnvironmentProcess(
        ExecutorSetting(run_dir=str(folder), environ=dict(os.environ), load=(task_id.partition(":")[0],))
    )
    try:
        leases = JobEnvironments(process.address, names=spec.environments, job_id="evaluation", seed=seed)
        try:
            yield leases
        finally:
            leases.close()
    finally:
        process.close()
