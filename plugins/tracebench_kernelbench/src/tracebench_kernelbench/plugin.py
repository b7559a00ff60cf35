"""The hooks of the suite; light, so that listing tasks imports no numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import AggregateSpec, EnvironmentSpec, SuiteSpec, TaskSpec, ViewSpec
from tracebench_kernelbench import catalog
from tracebench_kernelbench.cuda.listing import list_device
from tracebench_kernelbench.fast import FAST
from tracebench_kernelbench.modules.listing import list_modules, list_numba
from tracebench_kernelbench.settings import SETTINGS


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the root, and the option `root`."""
    refuse_unknown_options("kernelbench", settings.get("options") or {}, ("root",))
    SETTINGS.configure(settings)


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="KernelBench",
        description="Write a faster kernel: correct on fresh inputs, and timed where it cannot reach the clock.",
        citation=catalog.CITATION,
        licence="MIT",
    )


@hookimpl
def tracebench_tasks() -> tuple[TaskSpec, ...]:
    """Return a task per problem of our own, in C and with Numba, and those of KernelBench below a root."""
    return (*catalog.listed(), *list_numba(), *list_modules(SETTINGS), *list_device(SETTINGS))


@hookimpl
def tracebench_aggregates() -> list[AggregateSpec]:
    """Return how speed-ups become one number."""
    return [
        AggregateSpec(name=f"kernelbench_{name}", loader=f"tracebench_kernelbench.aggregates:{name}", title=title)
        for name, title in (
            ("geometric_mean", "Geometric mean of correct kernels' speed-ups, times their share"),
            *(
                (name, f"Share of kernels that are correct and more than {p:g} times as fast")
                for name, p in FAST.items()
            ),
        )
    ]


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Return the evaluation server that a run starts for itself."""
    return [
        EnvironmentSpec(
            name=catalog.ENVIRONMENT,
            kind="server",
            loader="tracebench_kernelbench.server.environment:ServerEnvironment",
            scope="run",
        )
    ]


@hookimpl
def tracebench_views() -> list[ViewSpec]:
    """Return the chart of a job's speed-ups."""
    return [
        ViewSpec(
            name="kernelbench-speedups",
            title="Speed-ups; grey: the noise, in which nothing is faster or slower; ✕: not correct",
            kind="chart",
            suites=("kernelbench",),
            loader="tracebench_kernelbench.speedups:view",
        )
    ]
