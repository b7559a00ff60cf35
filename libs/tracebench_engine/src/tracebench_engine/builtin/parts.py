"""The core's own components, as specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from tracebench_core.registry import Registry


@hookimpl
def tracebench_register(registry: Registry) -> None:
    """Add the baselines that every honest comparison needs, and the core's own other parts."""
    registry.add(
        TrainerSpec(
            name="NoOp",
            aliases=("NoOpTrainer",),
            title="Keeps the initial candidate: the noise floor",
            loader="tracebench_engine.builtin.baselines:NoOp",
            settings="tracebench_engine.builtin.settings:NoOpSettings",
            cost="tracebench_engine.builtin.settings:noop_cost",
            uses_model=False,
            searches=False,
        ),
        TrainerSpec(
            name="Given",
            title="One candidate from its settings, measured on one split: nothing is optimised",
            loader="tracebench_engine.builtin.baselines:Given",
            settings="tracebench_engine.builtin.settings:GivenSettings",
            cost="tracebench_engine.builtin.settings:given_cost",
            uses_model=False,
            searches=False,
            given=True,
        ),
        TrainerSpec(
            name="RandomSearch",
            title="Random changes of the best candidate, no model",
            loader="tracebench_engine.builtin.baselines:RandomSearch",
            settings="tracebench_engine.builtin.settings:RandomSearchSettings",
            setting_aliases={"num_candidates": "num_proposals", "threads": "num_threads"},
            cost="tracebench_engine.builtin.settings:random_search_cost",
            uses_model=False,
        ),
        TrainerSpec(
            name="BestOfN",
            title="Independent proposals from the initial candidate; the best is kept",
            loader="tracebench_engine.builtin.baselines:BestOfN",
            settings="tracebench_engine.builtin.settings:BestOfNSettings",
            setting_aliases={"num_candidates": "n", "num_proposals": "n", "threads": "num_threads"},
            default_optimizer="Reflective",
            cost="tracebench_engine.builtin.settings:best_of_n_cost",
            citation="IID sampling baseline, arXiv 2602.16805",
        ),
        TrainerSpec(
            name="SequentialRefine",
            title="One proposal after another, each on the last one's feedback",
            loader="tracebench_engine.builtin.baselines:SequentialRefine",
            settings="tracebench_engine.builtin.settings:SequentialRefineSettings",
            setting_aliases={"threads": "num_threads"},
            default_optimizer="Reflective",
            cost="tracebench_engine.builtin.settings:sequential_refine_cost",
            citation="Sequential refinement baseline, arXiv 2602.16805",
        ),
        TrainerSpec(
            name="Command",
            title="A program of your own, in any environment, that optimises through the job's door",
            loader="tracebench_engine.builtin.command:Command",
            settings="tracebench_engine.builtin.command:CommandSettings",
        ),
        OptimizerSpec(
            name="Reflective",
            title="Shows parameters, feedback and history to a model and asks for new values",
            loader="tracebench_engine.builtin.reflective:build",
            settings="tracebench_engine.builtin.reflective:ReflectiveSettings",
            preload=("tracebench_engine.builtin.reflective",),
        ),
        OptimizerSpec(
            name="Recombine",
            title="Recombines the sentences of earlier candidates and of a list of phrases; asks no model",
            loader="tracebench_engine.builtin.recombine:build",
            settings="tracebench_engine.builtin.recombine:RecombineSettings",
            calls_per_proposal=0.0,
        ),
        ExecutorSpec(
            name="local", title="One process per job on this machine", loader="tracebench_engine.builtin.local:build"
        ),
        LoggerSpec(
            name="ConsoleLogger",
            title="Lines in the job's stdout.log",
            loader="tracebench_engine.builtin.loggers:ConsoleLogger",
        ),
        LoggerSpec(
            name="TensorboardLogger",
            title="Score, best, seconds and tokens per step in the job's tb/",
            loader="tracebench_engine.builtin.loggers:TensorboardLogger",
            requires=(
                Requirement(kind="module", name="tensorboardX", hint='pip install "tracebench-engine[tensorboard]"'),
            ),
        ),
        ReporterSpec(name="live", title="A live table", loader="tracebench_engine.builtin.live:LiveReporter"),
        ReporterSpec(
            name="plain", title="One line per change", loader="tracebench_engine.builtin.reporters:PlainReporter"
        ),
        ReporterSpec(name="json", title="JSON Lines", loader="tracebench_engine.builtin.reporters:JsonReporter"),
        AttackSpec(
            name="forgeries",
            title="Closures, frames, builtins, modules, early exits, odd values and a judge of their own",
            loader="tracebench_testing.forgeries.forgeries:forgeries",
        ),
    )
