"""The hooks of the suite `autoresearch` and of its trainer; light, so that listing reads a few small files and starts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracebench_autoresearch import catalog
from tracebench_autoresearch.experiment import SHIPPED, SystemExperiment
from tracebench_autoresearch.sources.cache import environments
from tracebench_core.hookspecs import hookimpl
from tracebench_core.options import refuse_unknown_options
from tracebench_core.specs import (
    Requirement,
    Resources,
    StubFormatSpec,
    SuiteSpec,
    TaskSizes,
    TaskSpec,
    TaskVersion,
    TrainerSpec,
    ViewSpec,
)
from tracebench_engine.api.interpreters import find_python, has_python

_CUDA_READS = ("/proc/driver/nvidia", "/sys/devices/system/node")
"""What no box reads otherwise: the driver's version and its cards, and which memory is near to which processor."""
_GIT = Requirement(kind="command", name="git", hint="apt-get install git")


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the folder of the user's own experiments."""
    refuse_unknown_options("autoresearch", settings.get("options") or {}, ("root",))
    catalog.configure(settings)


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Autoresearch",
        description="Edits to the files of a repository, measured by a time-boxed command, kept or reverted by evidence.",
        citation="Karpathy, autoresearch (2026)",
        licence="MIT, where an experiment says nothing else",
        calibrations="tracebench_autoresearch.calibrations:cases",
    )


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List the experiments that ship and those of the root; of each, too, the instruction under which it is researched."""
    return [
        spec
        for number, one in enumerate(catalog.found())
        for spec in (_spec(number, one), *([_program_spec(number, one.name, one.experiment)] if one.experiment else ()))
    ]


def _spec(number: int, one: catalog.Found) -> TaskSpec:
    loader = f"tracebench_autoresearch.loading:experiment_{number}"
    experiment = one.experiment
    if experiment is None:
        return TaskSpec(name=one.name, title=one.name, loader=loader, broken=one.broken)
    target, run = experiment.target, experiment.run
    return TaskSpec(
        name=one.name,
        title=experiment.title or one.name,
        description=" ".join(experiment.objective.split()),
        loader=loader,
        options="tracebench_autoresearch.loading:Options",
        groups=("all",),
        tags=experiment.tags,
        metric=experiment.metric.name,
        direction=experiment.metric.direction,
        target=None if target is None else experiment.metric.sign * target,
        self_reported=experiment.self_reported,
        version=TaskVersion(comparability=experiment.comparability),
        timed=not experiment.deterministic,
        deterministic=experiment.deterministic,
        sizes=TaskSizes(parameters=1, train=1),
        resources=Resources(cpus=run.cpus, memory_mb=run.most_memory_mb, gpus=_gpus(experiment)),
        requires=tuple(_requirements(experiment)),
        readable=_readable(experiment),
        sandbox=(),
        source=str(one.path) if one.path.parent.parent != SHIPPED else "written for this plugin",
    )


def _program_spec(number: int, name: str, experiment: SystemExperiment) -> TaskSpec:
    return TaskSpec(
        name=f"program/{name}",
        title=f"The instruction for: {experiment.title or name}",
        description="Write the `program.md` that a researcher works by; what counts is how far a few experiments on the task get.",
        loader=f"tracebench_autoresearch.loading:program_{number}",
        options="tracebench_autoresearch.loading:ProgramOptions",
        groups=("program",),
        self_reported=experiment.self_reported,
        version=TaskVersion(comparability=experiment.comparability),
        timed=not experiment.deterministic,
        uses_model=True,
        tags=(*experiment.tags, "llm"),
        metric=experiment.metric.name,
        direction=experiment.metric.direction,
        sizes=TaskSizes(parameters=1, train=1),
        resources=Resources(cpus=experiment.run.cpus, gpus=_gpus(experiment)),
        requires=tuple(_requirements(experiment)),
        readable=_readable(experiment),
        sandbox=(),
        source="written for this plugin",
    )


def _readable(experiment: SystemExperiment) -> tuple[str, ...]:
    """Return what boxes read beside the system: what is named, and where the environments lie that are made of files or named by path."""
    boxed = any(command.gpus and not command.outside for command in experiment.commands)
    given = (*experiment.readable, *(_CUDA_READS if boxed else ()))
    if not experiment.environment:
        return given
    named = experiment.environment
    if (path := Path(named).expanduser()).is_absolute():
        return (*given, str(path.parent.parent))
    built = (str(Path(find_python(named)).parent.parent),) if has_python(named) else ()
    return (*given, *built, str(environments()))


def _gpus(experiment: SystemExperiment) -> int:
    """Return the most graphics processors that a command uses."""
    return max(command.gpus for command in experiment.commands)


def _requirements(experiment: SystemExperiment) -> Iterator[Requirement]:
    if gpus := _gpus(experiment):
        yield Requirement(kind="gpu", name=str(gpus), hint="nvidia-smi")
    for device in dict.fromkeys(name for command in experiment.commands for name in command.devices):
        yield Requirement(kind="path", name=device, hint=f"ls -l {device}")
    for name, hint in experiment.needs.items():
        yield Requirement(kind="command", name=name, hint=hint)
    if experiment.is_remote:
        yield _GIT


@hookimpl
def tracebench_trainers() -> list[TrainerSpec]:
    """Offer the loop itself."""
    return [
        TrainerSpec(
            name="Autoresearch",
            title="One edit after another, kept or reverted by evidence",
            description="Proposes a hypothesis with an edit, measures it, and keeps it when the gain stands out from the noise.",
            loader="tracebench_autoresearch.trainer.loop:Autoresearch",
            settings="tracebench_autoresearch.trainer.settings:AutoresearchSettings",
            setting_aliases={"num_steps": "num_experiments"},
            cost="tracebench_autoresearch.trainer.settings:cost",
            citation="Karpathy, autoresearch (2026)",
        )
    ]


@hookimpl
def tracebench_views() -> list[ViewSpec]:
    """Offer the plot of a job's experiments."""
    return [
        ViewSpec(
            name="autoresearch-progress",
            title="Best so far, by change",
            kind="chart",
            suites=("autoresearch",),
            loader="tracebench_autoresearch.history.progress:view",
        )
    ]


@hookimpl
def tracebench_stub_formats() -> list[StubFormatSpec]:
    """Return how the stub model answers: a number of a shown file is changed."""
    return [StubFormatSpec(name="autoresearch", loader="tracebench_autoresearch.stub:answer")]
