"""What the plugin offers, as data: nothing heavy is imported here."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import AttackSpec, Bounds, LoggerSpec, SuiteSpec, TaskSpec, TrainerSpec


@hookimpl
def tracebench_suite() -> SuiteSpec:
    """Describe the suite."""
    return SuiteSpec(title="Example", description="One small task, to copy.")


@hookimpl
def tracebench_tasks() -> list[TaskSpec]:
    """List the tasks; the id of this one is `example_plugin:median`."""
    return [
        TaskSpec(
            name="median",
            title="Write a function that returns the median",
            loader="tracebench_example.median:build",
            answers="tracebench_example.median:answers",
            metric="off",
            direction="minimize",
            target=1.0,
            worst_score=0.0,
            score_bounds=Bounds(minimum=0.0, maximum=1.0),
            metric_bounds={"off": Bounds(minimum=0.0)},
            sandbox=(),
            licence="MIT",
        )
    ]


@hookimpl
def tracebench_trainers() -> list[TrainerSpec]:
    """List the trainers."""
    return [
        TrainerSpec(
            name="KeepBest",
            title="Hill climbing: one proposal at a time; what is worse is dropped",
            loader="tracebench_example.keep_best:KeepBest",
            settings="tracebench_example.keep_best:KeepBestSettings",
            default_optimizer="Reflective",
        )
    ]


@hookimpl
def tracebench_loggers() -> list[LoggerSpec]:
    """List the loggers."""
    return [
        LoggerSpec(
            name="StepsCsv",
            title="One line per step in the job's steps.csv",
            loader="tracebench_example.steps_csv:StepsCsv",
        )
    ]


@hookimpl
def tracebench_attacks() -> list[AttackSpec]:
    """List the sets of attacks, which `trace-bench attack` tries on the tasks of any suite."""
    return [
        AttackSpec(
            name="idle",
            title="Answers that take no work",
            loader="tracebench_example.idle:forgeries",
        )
    ]
