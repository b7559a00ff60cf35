"""Where the jobs of a plan would run, and whether there is what they need: the executor knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import Component, ExecutorSpec, Resources, TaskSpec, Use
from tracebench_engine.matrix.plan import Plan
from tracebench_runs.meta.planned import kinds_of


def outlook(plan: Plan, host: PluginHost) -> tuple[str, ...]:
    """Return in sentences where the jobs of a plan would run; nothing of an executor that does not say.

    Raises:
        TraceBenchError: for what cannot be had there.
    """
    spec = host.component("executor", plan.config.executor)
    if not isinstance(spec, ExecutorSpec) or spec.outlook is None:
        return ()
    return tuple(load_ref(spec.outlook, owner=spec.name)(plan.config, most(plan)))


def refuse_unplaced(plan: Plan, host: PluginHost) -> None:
    """Let the executor of a plan refuse what would keep its run from starting here now.

    Raises:
        TraceBenchError: in the executor's words.
    """
    spec = host.component("executor", plan.config.executor)
    if isinstance(spec, ExecutorSpec) and spec.ready is not None:
        load_ref(spec.ready, owner=spec.name)(plan.config, most(plan))


def uses(plan: Plan, host: PluginHost) -> tuple[Use, ...]:
    """Return what the jobs of a plan use that may need something of a machine, each once."""
    found: dict[str, Use] = {}
    for job in kinds_of(plan.jobs):
        used = [
            _use("task", job.task_id, plan.tasks[job.task_id], job.eval_kwargs),
            _use("trainer", job.trainer_id, plan.trainers[job.trainer_id], job.settings),
        ]
        if job.optimizer is not None:
            used.append(
                _use("optimizer", job.optimizer, host.component("optimizer", job.optimizer), job.optimizer_kwargs)
            )
        found |= {use.model_dump_json(): use for use in used}
    return tuple(found.values())


def _use(
    kind: Literal["task", "trainer", "optimizer"], id_: str, spec: TaskSpec | Component, settings: Mapping[str, Any]
) -> Use:
    """Return a use with those settings alone that may make a requirement moot."""
    names = sorted({name for need in spec.requires for name in need.unless.split()})
    return Use(kind=kind, id=id_, settings={name: settings[name] for name in names if settings.get(name) is not None})


def most(plan: Plan) -> Resources:
    """Return what one job of a plan may need at most, of each kind."""
    needs = [task.resources for task in plan.tasks.values()] + [trainer.resources for trainer in plan.trainers.values()]
    return Resources(
        cpus=max((need.cpus for need in needs), default=1.0),
        memory_mb=max((need.memory_mb or 0 for need in needs), default=0) or None,
        gpus=max((need.gpus for need in needs), default=0),
    )
