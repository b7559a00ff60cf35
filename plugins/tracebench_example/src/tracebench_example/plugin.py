"""What the plugin offers; nothing heavy is imported here."""

from __future__ import annotations

from tracebench_core import Registry, hookimpl
from tracebench_core.specs import AttackSpec, LoggerSpec, SuiteSpec
from tracebench_example import keep_best, median


@hookimpl
def tracebench_register(registry: Registry) -> None:
    """Offer a suite with one task, `example_plugin:median`, a trainer, a logger, and attacks on the tasks of any suite."""
    registry.add(
        SuiteSpec(title="Example", description="One small task, to copy."),
        median.build,
        keep_best.KeepBest,
        LoggerSpec(
            name="StepsCsv",
            title="One line per step in the job's steps.csv",
            loader="tracebench_example.steps_csv:StepsCsv",
        ),
        AttackSpec(
            name="idle",
            title="Answers that take no work",
            loader="tracebench_example.idle:forgeries",
        ),
    )
