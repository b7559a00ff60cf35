"""Where the jobs of a plan would run, and whether there is what they need: the executor knows."""

from __future__ import annotations

from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import ExecutorSpec, Resources
from tracebench_engine.matrix.plan import Plan


def outlook(plan: Plan, host: PluginHost) -> tuple[str, ...]:
    """Return in sentences where the jobs of a plan would run; nothing of an executor that does not say.

    Raises:
        TraceBenchError: for what cannot be had there.
    """
    spec = host.component("executor", plan.config.executor)
    if not isinstance(spec, ExecutorSpec) or spec.outlook is None:
        return ()
    return tuple(load_ref(spec.outlook, owner=spec.name)(plan.config, most(plan)))


def most(plan: Plan) -> Resources:
    """Return what one job of a plan may need at most, of each kind."""
    needs = [task.resources for task in plan.tasks.values()] + [trainer.resources for trainer in plan.trainers.values()]
    return Resources(
        cpus=max((need.cpus for need in needs), default=1.0),
        memory_mb=max((need.memory_mb or 0 for need in needs), default=0) or None,
        gpus=max((need.gpus for need in needs), default=0),
    )
