"""The hooks of the suite; light, so that listing tasks imports no `datasets` and opens no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import AggregateSpec, SuiteSpec, TaskSpec
from tracebench_hfqa import state
from tracebench_hfqa.rows.source import settings_of


@hookimpl
def tracebench_configure(settings: Mapping[str, Any]) -> None:
    """Take where rows come from, and the user's own task files."""
    state.configure(settings_of(settings))


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(
        title="Question answering",
        description="Data sets of the Hugging Face hub, answered by a model whose prompts are optimised, scored as their authors do.",
        calibrations="tracebench_hfqa.calibrations:cases",
    )


@hookimpl
def tracebench_tasks() -> Sequence[TaskSpec]:
    """Return the tasks of all task files."""
    from tracebench_hfqa.catalog import specs  # noqa: PLC0415 - the settings decide what the specs say

    return specs()


@hookimpl
def tracebench_aggregates() -> Sequence[AggregateSpec]:
    """Return the harmonic mean by which BBEH's authors sum up subtasks."""
    return [
        AggregateSpec(
            name="harmonic_mean",
            title="Harmonic mean of accuracies, each raised by one percentage point (BBEH)",
            loader="tracebench_hfqa.harmonic:harmonic_mean",
        )
    ]
