"""The plugin's hooks: the scripted model for tasks whose calibrations are ladders."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import EnvironmentSpec, Price, ProviderSpec


@hookimpl
def tracebench_environments() -> list[EnvironmentSpec]:
    """Offer the scripted model, for as long as a run."""
    return [
        EnvironmentSpec(name="ladder-model", kind="server", scope="run", loader="tracebench_open.ladders:LadderModel")
    ]


@hookimpl
def tracebench_providers() -> list[ProviderSpec]:
    """Offer `ladders/p15-h45-r5`, and any other three percentages."""
    return [
        ProviderSpec(
            name="ladders",
            loader="tracebench_open.ladders:address",
            environment="ladder-model",
            told_job=True,
            prices={"*": Price(prompt=0.0, completion=0.0)},
        )
    ]
