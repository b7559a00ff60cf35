"""The hooks of the suite; light, so that listing tasks starts nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import EnvironmentSpec, PythonSpec, StubFormatSpec, SuiteSpec, TaskSpec, ViewSpec
from tracebench_terminalbench import catalog
from tracebench_terminalbench.found import RANGE


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the folder of local tasks."""
    refuse_unknown_options("terminal_bench", settings.get("options") or {}, ("root",))
    catalog.configure(settings)


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Terminal-Bench",
        description="An agent solves tasks in a terminal; what guides it is optimised. Harbor runs it, the gateway meters it.",
        aliases=("terminal-bench",),
        citation=catalog.CITATION,
        licence="Apache-2.0, and MIT for the toys",
    )


@hookimpl
def tracebench_tasks() -> tuple[TaskSpec, ...]:
    """Return the tasks that listings show."""
    return tuple(catalog.listed())


@hookimpl
def tracebench_find_task(name: str) -> TaskSpec | None:
    """Return the task of any slug."""
    return catalog.found(name)


@hookimpl
def tracebench_environments() -> Iterable[EnvironmentSpec]:
    """Return Harbor, found and checked once per run."""
    return [
        EnvironmentSpec(
            name="harbor", kind="command", loader="tracebench_terminalbench.harness:HarborEnvironment", scope="run"
        )
    ]


@hookimpl
def tracebench_stub_formats() -> Iterable[StubFormatSpec]:
    """Return how the stub model answers as Terminus-2's model."""
    return [StubFormatSpec(name="terminus-2", role="agent", loader="tracebench_terminalbench.stub:answer")]


@hookimpl
def tracebench_pythons() -> Iterable[PythonSpec]:
    """Return the interpreter that Harbor lives in."""
    return [
        PythonSpec(
            name="harbor",
            python=">=3.12",
            requirements=(RANGE,),
            loader="tracebench_engine.api.interpreters:find_python",
        )
    ]


@hookimpl
def tracebench_views() -> Iterable[ViewSpec]:
    """Return the steps of the best candidate's trials."""
    return [
        ViewSpec(
            name="terminal-bench-trajectory",
            title="What the agent did under the best candidate",
            kind="columns",
            suites=("terminal_bench",),
            loader="tracebench_terminalbench.trajectory:view",
        )
    ]
