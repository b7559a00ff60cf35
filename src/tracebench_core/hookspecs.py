"""The extension points of Trace-Bench. A plugin is one light module that implements any of them.

Calls are keyword-only, and an implementation may take any subset of the arguments. What a plugin offers it adds to the registry; doing so
must import nothing heavy: a spec names what to import as `"package.module:attribute"`, and a factory may import in its body.

The hooks that return specs are older than the registry. They stay valid through 0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:  # annotations only: a plugin imports the specs that it uses
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from tracebench_core.registry import Registry
    from tracebench_core.specs import (
        AggregateSpec,
        AttackSpec,
        EnvironmentSpec,
        Exclusion,
        ExecutorSpec,
        GuideSpec,
        JobResult,
        JobSpec,
        LoggerSpec,
        OptimizerSpec,
        ProviderSpec,
        PythonSpec,
        ReporterSpec,
        StubFormatSpec,
        SuiteSpec,
        TaskSpec,
        TrainerSpec,
        ViewSpec,
    )
    from tracebench_core.specs.events import Event

PROJECT = "tracebench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tracebench_configure(settings: Mapping[str, Any]) -> bool | None:
    """Take the plugin's settings: `root` (a folder given by `--root`, or None) and `options` (this plugin's, from the config).

    Called once in every process when the plugin loads, before any other of its hooks. After False, which says that with these settings it
    has nothing to do, no other is called. Options of a plugin without this hook are refused; one that has it refuses those that it does not
    take by `tracebench_core.options.refuse_unknown_options`.

    Since 0.1.
    """


@hookspec
def tracebench_register(registry: Registry) -> None:
    """Add what this plugin offers: `registry.add(…)`, a spec or a factory under `@task`, `@trainer` or `@guide`. Called once per process.

    Since 0.1.
    """


@hookspec
def tracebench_suite() -> SuiteSpec | None:
    """Describe the suite whose tasks this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_tasks() -> Iterable[TaskSpec]:
    """Return the tasks this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_find_task(name: str) -> TaskSpec | None:
    """Return the task of a name that no listing shows, or None; for suites with more tasks than anyone would list.

    Called when an id names this plugin's suite and no task that it added; the answer is kept.

    Since 0.1.
    """


@hookspec
def tracebench_trainers() -> Iterable[TrainerSpec]:
    """Return the trainers this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_find_trainers(name: str | None) -> Iterable[TrainerSpec]:
    """Return trainers that cost more to find than loading may take: the one of this name, or all with None; those known already, too.

    Called when an id begins with this plugin's name and a colon and no trainer that it added has this id, and with None when trainers are
    listed whole. `tracebench_exclusions` is asked again afterwards.

    Since 0.1.
    """


@hookspec
def tracebench_optimizers() -> Iterable[OptimizerSpec]:
    """Return the proposers this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_guides() -> Iterable[GuideSpec]:
    """Return the guides this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_executors() -> Iterable[ExecutorSpec]:
    """Return the executors this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_loggers() -> Iterable[LoggerSpec]:
    """Return the job loggers this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_reporters() -> Iterable[ReporterSpec]:
    """Return the run reporters this plugin offers. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_environments() -> Iterable[EnvironmentSpec]:
    """Return the environments that its tasks, or those of others, may ask for. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_providers() -> Iterable[ProviderSpec]:
    """Return providers of language models. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_stub_formats() -> Iterable[StubFormatSpec]:
    """Return answer formats for the stub model. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_aggregates() -> Iterable[AggregateSpec]:
    """Return ways to make one score of many. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_views() -> Iterable[ViewSpec]:
    """Return parts of reports and screens. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_pythons() -> Iterable[PythonSpec]:
    """Return the interpreters this plugin's libraries need. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_attacks() -> Iterable[AttackSpec]:
    """Return attacks on tasks of any suite, for `trace-bench attack`. Collected once per process.

    Since 0.1; deprecated: `tracebench_register` takes its place.
    """


@hookspec
def tracebench_exclusions() -> Iterable[Exclusion]:
    """Return ids that must not be offered, with the reason that is shown. Collected once per process.

    Since 0.1.
    """


@hookspec(firstresult=True)
def tracebench_run_job(job: JobSpec, job_dir: Path) -> JobResult | None:
    """Run one job and return its result. Called once in the job's own process; wrap it to cache, cap or trace.

    Since 0.1.
    """


@hookspec
def tracebench_event(job: JobSpec, event: Event) -> None:
    """See an event of a job, in the job's process, after it was written. A failure is reported and ends the observation only.

    Since 0.1.
    """


@hookspec
def tracebench_run_started(run_dir: Path) -> None:
    """See a run start, in the runner's process.

    Since 0.1.
    """


@hookspec
def tracebench_run_finished(run_dir: Path) -> None:
    """See a run end, in the runner's process, after all files are written.

    Since 0.1.
    """
