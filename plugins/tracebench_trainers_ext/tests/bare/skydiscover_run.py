"""SkyDiscover by hand: whole files, by the search that the last argument names."""

import asyncio
import json
import sys
from pathlib import Path

from skydiscover import config as sky
from skydiscover.search.main_controller import MainController
from world import INITIAL, SEED, URL

HERE, SEARCH = Path(__file__).parent, sys.argv[5]
EVALUATOR = f"""
import sys
sys.argv = {sys.argv!r}
sys.path.insert(0, {str(HERE)!r})
from world import TRAIN, score

def evaluate(path):
    code = open(path).read()
    open("visited", "a").write(repr(code.strip()) + chr(10))
    return {{"combined_score": sum(score(code, x) for x in TRAIN) / len(TRAIN)}}
"""
Path("initial.py").write_text(INITIAL)
Path("evaluator.py").write_text(EVALUATOR)
config = sky.Config(
    max_iterations=6, random_seed=SEED, language="python", file_suffix=".py", diff_based_generation=False
)
model = sky.LLMModelConfig(name="fake-model", api_base=URL, api_key="none", retries=0, timeout=100)
config.llm.models = config.llm.evaluator_models = config.llm.guide_models = [model]
config.llm.retries = 0
config.search.type = SEARCH
names = {"adaevolve": "AdaEvolveDatabaseConfig", "best_of_n": "BestOfNDatabaseConfig"}
config.search.database = getattr(sky, names[SEARCH])(random_seed=SEED)
config.evaluator.cascade_evaluation = False
config.evaluator.max_retries = 0
controller = MainController(
    initial_program_path="initial.py", evaluation_file="evaluator.py", config=config, output_dir="out"
)
asyncio.run(controller.run(iterations=6))
print(json.dumps([eval(line) for line in Path("visited").read_text().splitlines()]))  # the strings written above
