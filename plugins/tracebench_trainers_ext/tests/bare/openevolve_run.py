"""OpenEvolve by hand: whole files, one island after another."""

import asyncio
import json
import sys
from pathlib import Path

from openevolve.config import Config, LLMModelConfig
from openevolve.controller import OpenEvolve
from world import INITIAL, SEED, URL

HERE = Path(__file__).parent
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
config = Config(max_iterations=6, random_seed=SEED, diff_based_evolution=False, file_suffix=".py", language="python")
config.llm.models = config.llm.evaluator_models = [
    LLMModelConfig(name="fake-model", api_base=URL, api_key="none", weight=1.0, retries=0, timeout=100)
]
config.evaluator.parallel_evaluations = 1
config.evaluator.cascade_evaluation = False
run = OpenEvolve(initial_program_path="initial.py", evaluation_file="evaluator.py", config=config, output_dir="out")
asyncio.run(run.run(iterations=6))
print(json.dumps([eval(line) for line in Path("visited").read_text().splitlines()]))  # the strings written above
