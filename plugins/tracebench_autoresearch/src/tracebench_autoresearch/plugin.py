"""The hooks of the suite `autoresearch` and of its trainer; light, so that listing reads a few small files and starts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_autoresearch import catalog
from tracebench_autoresearch.experiment import SHIPPED
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Requirement, Resources, StubFormatSpec, SuiteSpec, TaskSizes, TaskSpec, TrainerSpec

_GIT = Requirement(kind="command", name="git", hint="apt-get install git")


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take the folder of the user's own experiments."""
    catalog.configure(settings)


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Autoresearch",
        description="Edits to the files of a repository, measured by a time-boxed command, kept or reverted by evidence.",
        citation="Karpathy, autoresearch (2026)",
    )


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List the experiments that ship and those of the root."""
    return [_spec(number, one) for number, one in enumerate(catalog.found())]


def _spec(number: int, one: catalog.Found) -> TaskSpec:
    loader = f"tracebench_autoresearch.loading:experiment_{number}"
    experiment = one.experiment
    if experiment is None:
        return TaskSpec(name=one.name, title=one.name, loader=loader, broken=one.broken)
    target = experiment.target
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
        deterministic=experiment.deterministic,
        sizes=TaskSizes(parameters=1, train=1),
        resources=Resources(memory_mb=experiment.run.memory_mb),
        requires=(_GIT,) if experiment.is_remote else (),
        sandbox=(),
        source=str(one.path) if one.path.parent.parent != SHIPPED else "written for this plugin",
    )


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
def tracebench_stub_formats() -> list[StubFormatSpec]:
    """Return how the stub model answers: a number of a shown file is changed."""
    return [StubFormatSpec(name="autoresearch", loader="tracebench_autoresearch.stub:answer")]
