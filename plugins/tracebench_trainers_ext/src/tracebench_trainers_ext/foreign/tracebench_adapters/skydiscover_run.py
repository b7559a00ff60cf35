"""SkyDiscover over the job's task: AdaEvolve's adaptive islands, or best of n, evaluated at the door."""

import asyncio
import importlib
from pathlib import Path

from skydiscover import config as sky
from skydiscover.search.main_controller import MainController

from . import files, knobs
from .task import settings_of

HELD = (
    "max_iterations", "random_seed", "checkpoint_interval", "log_level", "log_dir", "file_suffix", "language", "llm", "search.type",
    "search.output_dir", "search.database.random_seed", "search.database.db_path", "prompt.system_message", "evaluator.timeout",
    "evaluator.max_retries", "evaluator.cascade_evaluation", "evaluator.parallel_evaluations", "agentic", "monitor",
    "human_feedback_enabled", "human_feedback_file", "human_feedback_mode",
)  # fmt: skip
"""Fields of the library's config that the bench holds."""
LONG = 10**6
"""Seconds: deadlines are the engine's."""
DATABASES = {"adaevolve": "AdaEvolveDatabaseConfig", "best_of_n": "BestOfNDatabaseConfig"}


def train(task, settings):
    """Search until the iterations or the budget end."""
    settings = settings_of(settings)
    files.share(task)
    program, evaluator = files.write_task(task, "skydiscover")
    controller = MainController(
        initial_program_path=program,
        evaluation_file=evaluator,
        config=build_config(task, settings),
        output_dir=str(Path.cwd() / "skydiscover_output"),
    )
    controller.database.sample = with_lineage(controller.database.sample, task, settings.search)
    best = asyncio.run(controller.run(iterations=files.planned_iterations(task, settings.iterations)))
    task.end_step()
    if best is not None:
        task.measure(files.read(task, best.solution), task.validation, origin=f"skydiscover:{settings.search}")


def with_lineage(sample, task, search):
    """Tell the task from which program the next child descends, as the library samples it."""

    def sampled(*args, **kwargs):
        chosen = sample(*args, **kwargs)
        parents = chosen[0].values() if isinstance(chosen[0], dict) else [chosen[0]]
        task.propose()
        task.expect([files.read(task, parent.solution) for parent in parents], f"skydiscover:{search}")
        return chosen

    return sampled


def build_config(task, settings):
    """Return SkyDiscover's config: our model without retries, our seed, whole files unless patches are asked for."""
    endpoint = task.endpoint()
    config = sky.Config(
        max_iterations=settings.iterations,
        checkpoint_interval=LONG,
        log_level="WARNING",
        random_seed=task.seed % 2**31,
        language=files.language(task),
        file_suffix=files.suffix(task),
        diff_based_generation=settings.diff_based_evolution,
    )
    model = sky.LLMModelConfig(
        name=endpoint.model,
        api_base=endpoint.base_url,
        api_key=endpoint.api_key,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout=LONG,
        retries=0,
        retry_delay=0,
        random_seed=task.seed % 2**31,
    )
    config.llm.models = config.llm.evaluator_models = config.llm.guide_models = [model]
    config.llm.retries = 0
    config.search.type = settings.search
    database = getattr(importlib.import_module("skydiscover.config"), DATABASES[settings.search])()
    database.random_seed = task.seed % 2**31
    config.search.database = knobs.lay(database, settings.database, held=("random_seed", "db_path"))
    config.prompt.system_message = files.instructions(task)
    config.evaluator.timeout = LONG
    config.evaluator.max_retries = 0
    config.evaluator.cascade_evaluation = False
    config.evaluator.parallel_evaluations = 1
    return knobs.lay(config, settings.library, held=HELD)
