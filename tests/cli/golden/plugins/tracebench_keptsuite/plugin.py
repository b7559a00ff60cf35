"""What the plugin offers, as data: nothing heavy is imported here."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import SuiteSpec, TaskSizes, TaskSpec


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(title="Keptsuite", description="One small task, to begin from.", licence="MIT")


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List the tasks; the id of this one is `keptsuite:sorting`."""
    return [
        TaskSpec(
            name="sorting",
            title="Sort numbers with few comparisons",
            loader="tracebench_keptsuite.sorting:build",
            options="tracebench_keptsuite.sorting:Options",
            answers="tracebench_keptsuite.sorting:answers",
            metric="comparisons",
            direction="minimize",
            worst_score=-1000.0,
            deterministic=True,
            sandbox=(),
            sizes=TaskSizes(train=3, validation=3, test=3),
        )
    ]
