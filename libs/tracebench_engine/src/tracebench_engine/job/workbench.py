"""Evaluate a task without a trainer, for programs that want only the tasks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracebench_core.plugins import PluginHost
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_core.specs import (
    Candidate,
    Example,
    ExampleResult,
    ExecutorSetting,
    Feedback,
    Parameter,
    SandboxConfig,
    Split,
    TaskSpec,
    Values,
)
from tracebench_engine.measure.building import OpenTask, load_aggregate, open_task
from tracebench_engine.measure.context import Environments, NoEnvironments, Shared
from tracebench_engine.measure.models import Models, NoModels
from tracebench_engine.measure.sandbox import job_sandbox
from tracebench_engine.measure.service import EvaluationService
from tracebench_runs.events.ranking import Aggregate, aggregate_score
from tracebench_sandbox import temporary


class Workbench:
    """A task opened without a trainer: values in, feedback out."""

    def __init__(
        self, opened: OpenTask, service: EvaluationService, initial: Candidate, *, aggregate: Aggregate
    ) -> None:
        self._aggregate = aggregate
        self.opened, self._service, self._initial = opened, service, initial
        self.parameters: tuple[Parameter, ...] = tuple(opened.task.parameters)
        self.spec = opened.spec

    def complete(self, values: Mapping[str, Any]) -> Values:
        """Return the values with the initial one for each parameter that they leave out."""
        return self._initial.values | dict(values)

    def evaluate(
        self,
        values: Mapping[str, Any],
        *,
        split: Split,
        name: str = "c1",
        most: int | None = None,
        only: Collection[str] = (),
        repeat: bool = False,
    ) -> Iterator[ExampleResult]:
        """Yield the results of a split's examples in their order, each as soon as it is there; `name` is the candidate's.

        `only` keeps the examples of these ids, and `most` the first ones. With `repeat` all are measured, those measured before, too.

        Raises:
            BrokenTaskError: when the task fails on its own initial candidate.
        """
        full = self.complete(values)
        candidate = self._initial if full == self._initial.values else Candidate(id=name, values=full)
        chosen = [example for example in self.examples(split) if not only or example.id in only]
        works = [(example, split) for example in chosen[:most]]
        for result in self._service.begin(candidate, works, phase="training", repeat=repeat):
            yield result.result()

    def aggregate(self, feedbacks: Sequence[Feedback]) -> float | None:
        """Return the score of a batch as the task aggregates it; None when an example has none and there is no worst score."""
        return aggregate_score(feedbacks, self.spec.worst_score, self._aggregate)

    def count(self, split: Split) -> int:
        """Return how many examples a split has."""
        return len(self.examples(split))

    def examples(self, split: Split) -> Sequence[Example]:
        """Return the examples of a split."""
        return self.opened.test if split == "test" else tuple(self.opened.task.splits.get(split, ()))


@contextmanager
def open_workbench(
    host: PluginHost,
    task_id: str,
    *,
    eval_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    models: Models | None = None,
    workers: int = 1,
    guide: str | None = None,
    guide_kwargs: Mapping[str, Any] | None = None,
) -> Iterator[Workbench]:
    """Open a task, its sandbox and its environments for evaluations without a trainer; `workers` at a time, scored by another `guide`."""
    full_id = resolve_task_ids(host, task_id)[0]
    opened = open_task(host, full_id, eval_kwargs=eval_kwargs or {}, guide=guide, guide_kwargs=guide_kwargs)
    initial = Candidate(id="c0", values={p.name: p.initial for p in opened.task.parameters})
    sandbox = job_sandbox(
        SandboxConfig(), address=None, preload=opened.spec.sandbox or (), readable=opened.spec.readable
    )
    with temporary.scratch_folder() as folder:
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
                    opened.task, opened.guide, shared, spec=opened.spec, initial=initial, seed=seed, workers=workers
                )
                yield Workbench(opened, service, initial, aggregate=load_aggregate(host, opened.spec))
        finally:
            sandbox.close()
            opened.close()


@contextmanager
def _environments(spec: TaskSpec, task_id: str, folder: Path, *, seed: int) -> Iterator[Environments]:
    """Yield the environments that a task names, held by a process of their own."""
    if not spec.environments:
        yield NoEnvironments()
        return
    from tracebench_engine.measure.environments.client import (  # noqa: PLC0415 - few tasks name any
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
