"""What is offered: the executor `slurm`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import ExecutorSpec


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Read this plugin's options once, so that a mistake is told before anything is run.

    Raises:
        ConfigError: for an option that there is not, or that says nothing.
    """
    if settings["options"]:
        from tracebench_slurm.options import Options  # noqa: PLC0415 - models that no listing needs
        from tracebench_workers.options import checked  # noqa: PLC0415

        checked("slurm", Options, settings["options"])


@hookimpl
def tracebench_executors() -> list[ExecutorSpec]:
    """Jobs on workers that Slurm places."""
    return [
        ExecutorSpec(
            name="slurm",
            title="Jobs on workers that Slurm places",
            loader="tracebench_slurm.executor:SlurmExecutor",
            outlook="tracebench_slurm.options:outlook",
            ready="tracebench_slurm.options:ready",
        )
    ]
