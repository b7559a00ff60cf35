"""What the plugin offers, as data: nothing heavy is imported here."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import LoggerSpec, Requirement


def _needs(module: str) -> tuple[Requirement, ...]:
    return (Requirement(kind="module", name=module, hint=f'pip install "tracebench-trackers[{module}]"'),)


@hookimpl
def tracebench_loggers() -> list[LoggerSpec]:
    """List the loggers."""
    return [
        LoggerSpec(
            name="MLflowLogger",
            title="MLflow: a parent run per run, a run inside it per job",
            loader="tracebench_trackers.mlflow_sink:MLflowLogger",
            settings="tracebench_trackers.settings:MLflowSettings",
            requires=_needs("mlflow"),
        ),
        LoggerSpec(
            name="WandbLogger",
            title="Weights & Biases: a group per run, a run in it per job",
            loader="tracebench_trackers.wandb_sink:WandbLogger",
            settings="tracebench_trackers.settings:WandbSettings",
            requires=_needs("wandb"),
        ),
    ]
