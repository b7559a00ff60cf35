"""The core's own components, as specs."""

from __future__ import annotations

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import (
    AttackSpec,
    ExecutorSpec,
    LoggerSpec,
    OptimizerSpec,
    ReporterSpec,
    Requirement,
    TrainerSpec,
)


@hookimpl
def tracebench_trainers() -> list[TrainerSpec]:
    """The baselines that every honest comparison needs."""
    return [
        TrainerSpec(
            name="NoOp",
            aliases=("NoOpTrainer",),
            title="Keeps the initial candidate: the noise floor",
            loader="tracebench_core.builtin.baselines:NoOp",
            settings="tracebench_core.builtin.settings:NoOpSettings",
            cost="tracebench_core.builtin.settings:noop_cost",
            uses_model=False,
            searches=False,
        ),
        TrainerSpec(
            name="RandomSearch",
            title="Random changes of the best candidate, no model",
            loader="tracebench_core.builtin.baselines:RandomSearch",
            settings="tracebench_core.builtin.settings:RandomSearchSettings",
            setting_aliases={"num_candidates": "num_proposals", "threads": "num_threads"},
            cost="tracebench_core.builtin.settings:random_search_cost",
            uses_model=False,
        ),
        TrainerSpec(
            name="BestOfN",
            title="Independent proposals from the initial candidate; the best is kept",
            loader="tracebench_core.builtin.baselines:BestOfN",
            settings="tracebench_core.builtin.settings:BestOfNSettings",
            setting_aliases={"num_candidates": "n", "num_proposals": "n", "threads": "num_threads"},
            default_optimizer="Reflective",
            cost="tracebench_core.builtin.settings:best_of_n_cost",
            citation="IID sampling baseline, arXiv 2602.16805",
        ),
        TrainerSpec(
            name="SequentialRefine",
            title="One proposal after another, each on the last one's feedback",
            loader="tracebench_core.builtin.baselines:SequentialRefine",
            settings="tracebench_core.builtin.settings:SequentialRefineSettings",
            setting_aliases={"threads": "num_threads"},
            default_optimizer="Reflective",
            cost="tracebench_core.builtin.settings:sequential_refine_cost",
            citation="Sequential refinement baseline, arXiv 2602.16805",
        ),
        TrainerSpec(
            name="Command",
            title="A program of your own, in any environment, that optimises through the job's door",
            loader="tracebench_core.builtin.command:Command",
            settings="tracebench_core.builtin.command:CommandSettings",
        ),
    ]


@hookimpl
def tracebench_optimizers() -> list[OptimizerSpec]:
    """The core's own proposers."""
    return [
        OptimizerSpec(
            name="Reflective",
            title="Shows parameters, feedback and history to a model and asks for new values",
            loader="tracebench_core.builtin.reflective:build",
            settings="tracebench_core.builtin.reflective:ReflectiveSettings",
            preload=("tracebench_core.builtin.reflective",),
        ),
        OptimizerSpec(
            name="Recombine",
            title="Recombines the sentences of earlier candidates and of a list of phrases; asks no model",
            loader="tracebench_core.builtin.recombine:build",
            settings="tracebench_core.builtin.recombine:RecombineSettings",
            calls_per_proposal=0.0,
        ),
    ]


@hookimpl
def tracebench_executors() -> list[ExecutorSpec]:
    """Jobs on this machine."""
    return [
        ExecutorSpec(
            name="local", title="One process per job on this machine", loader="tracebench_core.builtin.local:build"
        )
    ]


@hookimpl
def tracebench_loggers() -> list[LoggerSpec]:
    """Sinks of a job's events."""
    return [
        LoggerSpec(
            name="ConsoleLogger",
            title="Lines in the job's stdout.log",
            loader="tracebench_core.builtin.loggers:ConsoleLogger",
        ),
        LoggerSpec(
            name="TensorboardLogger",
            title="Score, best, seconds and tokens per step in the job's tb/",
            loader="tracebench_core.builtin.loggers:TensorboardLogger",
            requires=(
                Requirement(kind="module", name="tensorboardX", hint='pip install "tracebench-core[tensorboard]"'),
            ),
        ),
    ]


@hookimpl
def tracebench_reporters() -> list[ReporterSpec]:
    """Views of a run under way."""
    return [
        ReporterSpec(name="live", title="A live table", loader="tracebench_core.builtin.live:LiveReporter"),
        ReporterSpec(
            name="plain", title="One line per change", loader="tracebench_core.builtin.reporters:PlainReporter"
        ),
        ReporterSpec(name="json", title="JSON Lines", loader="tracebench_core.builtin.reporters:JsonReporter"),
    ]


@hookimpl
def tracebench_attacks() -> list[AttackSpec]:
    """What programs do to a score that is taken beside them."""
    return [
        AttackSpec(
            name="forgeries",
            title="Closures, frames, builtins, modules, early exits, odd values and a judge of their own",
            loader="tracebench_core.testing.forgeries:forgeries",
        )
    ]
