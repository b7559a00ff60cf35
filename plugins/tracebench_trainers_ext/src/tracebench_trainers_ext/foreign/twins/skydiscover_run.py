"""SkyDiscover: adaptive islands, or best of n."""

import asyncio
import sys
from pathlib import Path

import recorded
from recorded import settings
from skydiscover import config as sky
from skydiscover.search.main_controller import MainController
from texts import instructions, lay, planned_programs

LONG = 10**6
sys.modules["openevolve"] = None  # the evaluator file answers in SkyDiscover's form
((name, initial),) = recorded.initial.items()
is_code = recorded.parameters[name].kind == "code"
program = Path("initial.py" if is_code else "initial.txt").absolute()
program.write_text(initial)
config = sky.Config(
    max_iterations=settings.iterations,
    checkpoint_interval=LONG,
    log_level="WARNING",
    random_seed=recorded.seed % 2**31,
    language="python" if is_code else "text",
    file_suffix=program.suffix,
    diff_based_generation=settings.diff_based_evolution,
)
model = sky.LLMModelConfig(
    name=recorded.model,
    api_base=recorded.base_url,
    api_key=recorded.api_key,
    temperature=settings.temperature,
    max_tokens=settings.max_tokens,
    timeout=LONG,
    retries=0,
    retry_delay=0,
    random_seed=recorded.seed % 2**31,
)
config.llm.models = config.llm.evaluator_models = config.llm.guide_models = [model]
config.llm.retries = 0
config.search.type = settings.search
names = {"adaevolve": "AdaEvolveDatabaseConfig", "best_of_n": "BestOfNDatabaseConfig"}
config.search.database = lay(getattr(sky, names[settings.search])(), settings.database)
config.search.database.random_seed = recorded.seed % 2**31
config.prompt.system_message = instructions()
config.evaluator.timeout = LONG
config.evaluator.max_retries = 0
config.evaluator.cascade_evaluation = False
config.evaluator.parallel_evaluations = 1
controller = MainController(
    initial_program_path=str(program),
    evaluation_file=str(Path(__file__).with_name("evaluator.py")),
    config=lay(config, settings.library),
    output_dir="out",
)
asyncio.run(controller.run(iterations=planned_programs(settings.iterations)))
