"""ShinkaEvolve by hand: whole programs, one proposal and one evaluation at a time."""

import json
import os
import sys
from pathlib import Path

from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig
from world import INITIAL, URL

EVALUATOR = f"""
import argparse, json, sys
from pathlib import Path
arguments = argparse.ArgumentParser()
arguments.add_argument("--program_path")
arguments.add_argument("--results_dir")
given, _ = arguments.parse_known_args()
sys.argv = {sys.argv!r}
sys.path.insert(0, {str(Path(__file__).parent)!r})
from world import TRAIN, score
code = "".join(l for l in Path(given.program_path).read_text().splitlines(True) if "EVOLVE-BLOCK" not in l)
open({str(Path("visited").absolute())!r}, "a").write(json.dumps(code.strip()) + chr(10))
mean = sum(score(code, x) for x in TRAIN) / len(TRAIN)
folder = Path(given.results_dir)
folder.mkdir(parents=True, exist_ok=True)
metrics = dict(combined_score=mean, public=dict(), private=dict(), text_feedback="")
(folder / "metrics.json").write_text(json.dumps(metrics))
(folder / "correct.json").write_text(json.dumps(dict(correct=True, error=None)))
"""
Path("initial.py").write_text(f"# EVOLVE-BLOCK-START\n{INITIAL}# EVOLVE-BLOCK-END\n")
Path("evaluate.py").write_text(EVALUATOR)
os.environ["LOCAL_OPENAI_API_KEY"] = "none"
ShinkaEvolveRunner(
    evo_config=EvolutionConfig(
        task_sys_msg="Improve it.",
        num_generations=6,
        patch_types=["full"],
        patch_type_probs=[1.0],
        llm_models=[f"local/fake-model@{URL}"],
        llm_dynamic_selection=None,
        embedding_model=None,
        init_program_path=str(Path("initial.py").absolute()),
        results_dir=str(Path("out").absolute()),
        max_patch_resamples=1,
    ),
    job_config=LocalJobConfig(eval_program_path=str(Path("evaluate.py").absolute()), python_executable=sys.executable),
    db_config=DatabaseConfig(db_path="shinka.sqlite", num_islands=2),
    max_evaluation_jobs=1,
    max_proposal_jobs=1,
    max_db_workers=1,
    verbose=False,
).run()
print(json.dumps([json.loads(line) for line in Path("visited").read_text().splitlines()]))
