"""OpenEvolve: islands of programs."""

import asyncio
from dataclasses import replace
from pathlib import Path

import recorded
from openevolve import process_parallel
from openevolve.config import Config, LLMModelConfig
from openevolve.controller import OpenEvolve
from recorded import settings
from texts import draw_ids, instructions, lay, planned_programs

LONG = 10**6
ONE_ITERATION = process_parallel._run_iteration_worker  # noqa: SLF001


def drawn(iteration, *given):
    draw_ids(f"{recorded.seed} {iteration}")  # the library draws parents from sets of them
    return ONE_ITERATION(iteration, *given)


process_parallel._run_iteration_worker = drawn  # noqa: SLF001
drawn.__module__, drawn.__qualname__ = process_parallel.__name__, "_run_iteration_worker"
draw_ids(recorded.seed)
((name, initial),) = recorded.initial.items()
is_code = recorded.parameters[name].kind == "code"
program = Path("initial.py" if is_code else "initial.txt").absolute()
program.write_text(initial)
config = Config(
    max_iterations=settings.iterations,
    random_seed=recorded.seed % 2**31,
    checkpoint_interval=LONG,
    log_level="WARNING",
    file_suffix=program.suffix,
    language="python" if is_code else "text",
    diff_based_evolution=settings.diff_based_evolution,
    max_code_length=settings.max_code_length,
)
model = LLMModelConfig(
    name=recorded.model,
    api_base=recorded.base_url,
    api_key=recorded.api_key,
    weight=1.0,
    temperature=settings.temperature,
    max_tokens=settings.max_tokens,
    timeout=LONG,
    retries=0,
    retry_delay=0,
    random_seed=recorded.seed % 2**31,
    reasoning_effort=None,
)
given = {name: dict(part) if isinstance(part, dict) else part for name, part in settings.library.items()}
ensemble = given.get("llm", {}).pop("models", None)
config.llm.retries = 0
config.llm.evaluator_models = [model]
config.llm.models = [model] if ensemble is None else [replace(model, **one) for one in ensemble]
config.prompt.system_message = instructions()
config.prompt.num_top_programs = settings.num_top_programs
config.prompt.num_diverse_programs = settings.num_diverse_programs
config.database.num_islands = settings.num_islands
config.database.population_size = settings.population_size
config.database.random_seed = recorded.seed % 2**31
config.evaluator.parallel_evaluations = settings.parallel_evaluations
config.evaluator.max_retries = 0
config.evaluator.cascade_evaluation = False
config.evaluator.timeout = LONG
run = OpenEvolve(
    initial_program_path=str(program),
    evaluation_file=str(Path(__file__).with_name("evaluator.py")),
    config=lay(config, given),
    output_dir="out",
)
best = asyncio.run(run.run(iterations=planned_programs(settings.iterations)))
