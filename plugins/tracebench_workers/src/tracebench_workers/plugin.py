"""What is offered: the executor `workers`."""

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
        from tracebench_workers.options import Options, checked  # noqa: PLC0415 - models that no listing needs

        checked("workers", Options, settings["options"])


@hookimpl
def tracebench_executors() -> list[ExecutorSpec]:
    """Jobs on workers that join the run."""
    return [
        ExecutorSpec(
            name="workers",
            title="Jobs on workers that join the run",
            loader="tracebench_workers.executor:WorkersExecutor",
            outlook="tracebench_workers.options:outlook",
            ready="tracebench_workers.options:ready",
            places={"worker": "tracebench_workers.looking:look"},
        )
    ]
