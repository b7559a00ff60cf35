"""OpenEvolve over the job's task: islands of program files, evaluated by its own workers at the door."""

import asyncio
from dataclasses import replace
from pathlib import Path

from openevolve import process_parallel
from openevolve.config import Config, LLMModelConfig
from openevolve.controller import OpenEvolve

from . import files, knobs
from .ordered import draw_ids
from .task import settings_of

OF_THE_GATEWAY = ("api_base", "api_key", "provider", "init_client", "retries", "retry_delay", "timeout", "random_seed")
"""What a model of an ensemble has of the bench; its `name` is one that the run's models offer."""
HELD = (
    "max_iterations", "random_seed", "checkpoint_interval", "log_level", "log_dir", "file_suffix", "language", "llm.evaluator_models",
    *(f"llm.{name}" for name in ("name", "primary_model", "secondary_model", "system_message", *OF_THE_GATEWAY)),
    "prompt.system_message", "database.random_seed", "database.db_path", "database.embedding_model", "database.novelty_llm",
    "evaluator.timeout", "evaluator.max_retries", "evaluator.distributed", "evaluator.use_llm_feedback", "evaluator.cascade_evaluation",
)  # fmt: skip
"""Fields of the library's config that the bench holds."""
LONG = 10**6
"""Seconds: deadlines are the engine's, and a timeout of the library's own would score a program that has none."""
ONE_ITERATION = process_parallel._run_iteration_worker  # noqa: SLF001 - the one place that knows parent and island


def with_lineage(iteration, db_snapshot, parent_id, inspiration_ids):
    """Run one iteration in a worker, and tell the task from which program and island its child descends."""
    parent = db_snapshot["programs"][parent_id]
    task = files.open_task()
    draw_ids(f"{task.seed} {iteration}")  # the library draws parents from sets of them
    island = (parent.get("metadata") or {}).get("island", db_snapshot["current_island"])
    task.expect([files.read(task, parent["code"])], f"openevolve:island{island}")
    return ONE_ITERATION(iteration, db_snapshot, parent_id, inspiration_ids)


def train(task, settings):
    """Evolve until the iterations or the budget end."""
    settings = settings_of(settings)
    files.share(task)
    draw_ids(task.seed)
    program, evaluator = files.write_task(task, "openevolve")
    process_parallel._run_iteration_worker = with_lineage  # noqa: SLF001
    with_lineage.__module__, with_lineage.__qualname__ = process_parallel.__name__, "_run_iteration_worker"
    run = OpenEvolve(
        initial_program_path=program,
        evaluation_file=evaluator,
        config=build_config(task, settings),
        output_dir=str(Path.cwd() / "openevolve_output"),
    )
    best = asyncio.run(run.run(iterations=files.planned_iterations(task, settings.iterations)))
    task.end_step()
    if best is not None:
        task.measure(files.read(task, best.code), task.validation, origin="openevolve")


def build_config(task, settings):
    """Return OpenEvolve's config: our model without retries, our seed, no evaluations of its own making."""
    endpoint = task.endpoint()
    config = Config(
        max_iterations=settings.iterations,
        random_seed=task.seed % 2**31,
        checkpoint_interval=LONG,
        log_level="WARNING",
        file_suffix=files.suffix(task),
        language=files.language(task),
        diff_based_evolution=settings.diff_based_evolution,
        max_code_length=settings.max_code_length,
    )
    model = LLMModelConfig(
        name=endpoint.model,
        api_base=endpoint.base_url,
        api_key=endpoint.api_key,
        weight=1.0,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout=LONG,
        retries=0,
        retry_delay=0,
        random_seed=task.seed % 2**31,
        reasoning_effort=None,
    )
    config.llm.retries = 0
    config.llm.models = config.llm.evaluator_models = [model]
    config.prompt.system_message = files.instructions(task)
    config.prompt.num_top_programs = settings.num_top_programs
    config.prompt.num_diverse_programs = settings.num_diverse_programs
    config.database.num_islands = settings.num_islands
    config.database.population_size = settings.population_size
    config.database.random_seed = task.seed % 2**31
    config.evaluator.parallel_evaluations = settings.parallel_evaluations
    config.evaluator.max_retries = 0
    config.evaluator.cascade_evaluation = False
    config.evaluator.timeout = LONG
    given = dict(settings.library)
    ensemble = given.get("llm", {}).get("models") if isinstance(given.get("llm"), dict) else None
    if ensemble is not None:
        given["llm"] = {name: value for name, value in given["llm"].items() if name != "models"}
        config.llm.models = [
            replace(model, **knobs.arguments(LLMModelConfig, {}, one, held=OF_THE_GATEWAY)) for one in ensemble
        ]
    return knobs.lay(config, given, held=HELD)
