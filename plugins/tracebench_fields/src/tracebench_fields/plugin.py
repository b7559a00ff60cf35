"""The plugin's hooks: specs only."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Bounds, EnvironmentSpec, Price, ProviderSpec, SuiteSpec, TaskSpec
from tracebench_fields.families import FAMILIES


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Fields",
        description="Generated tasks of which everything is known, for asking what a trainer chooses and keeps.",
        licence="MIT",
    )


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """Offer a task for each family; the loader asks for the secret of a release that has not been given away."""
    return [
        TaskSpec(
            name=row.name,
            title=row.title,
            description=f"`deception` is {row.deceives}.",
            groups=(row.half,),
            tags=(row.half,),
            loader=f"tracebench_fields.loaders:{row.name}",
            options="tracebench_fields.task:FieldOptions",
            sizes_of=f"tracebench_fields.loaders:{row.name}_sizes",
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            worst_score=0.0,
            sandbox=row.sandbox,
        )
        for row in FAMILIES.values()
    ]


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the scripted model, for as long as a run."""
    return [
        EnvironmentSpec(
            name="scripted-model", kind="server", scope="run", loader="tracebench_fields.model:ScriptedModel"
        )
    ]


@hookimpl
def tracebench_providers() -> list[ProviderSpec]:
    """Offer `fields/p35-h45-r5`, and any other three percentages."""
    return [
        ProviderSpec(
            name="fields",
            loader="tracebench_fields.model:address",
            environment="scripted-model",
            told_job=True,
            prices={"*": Price(prompt=0.0, completion=0.0)},
        )
    ]
