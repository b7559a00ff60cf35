"""ShinkaEvolve: islands of programs, one proposal and one evaluation at a time."""

import os
import random
import sys
from pathlib import Path

import numpy as np
import recorded
from recorded import settings
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig
from texts import draw_ids, instructions, lay, planned_programs

random.seed(recorded.seed)  # islands, parents and patches are drawn from both
np.random.seed(recorded.seed % 2**32)
draw_ids(recorded.seed)
HERE = Path(__file__).parent
((name, code),) = recorded.initial.items()
Path("initial.py").write_text(f"# EVOLVE-BLOCK-START\n{code.rstrip()}\n# EVOLVE-BLOCK-END\n")
os.environ |= {"LOCAL_OPENAI_API_KEY": recorded.api_key, "TWINS": str(HERE)}
sampling = {"temperatures": [0.7 if settings.temperature is None else settings.temperature]}
if settings.max_tokens is not None:
    sampling["max_tokens"] = settings.max_tokens
evolution = EvolutionConfig(
    task_sys_msg=instructions(),
    num_generations=planned_programs(settings.iterations),
    patch_types=list(settings.patch_types),
    patch_type_probs=[1.0 / len(settings.patch_types)] * len(settings.patch_types),
    llm_models=[f"local/{recorded.model}@{recorded.base_url}"],
    llm_dynamic_selection=None,
    llm_kwargs=sampling,
    meta_rec_interval=None,
    embedding_model=None,
    init_program_path=str(Path("initial.py").absolute()),
    results_dir=str(Path("out").absolute()),
    use_text_feedback=True,
    max_patch_resamples=1,
)
given = dict(settings.library)
database = lay(DatabaseConfig(db_path="shinka.sqlite", num_islands=settings.num_islands), given.pop("database", {}))
ShinkaEvolveRunner(
    evo_config=lay(evolution, given),
    job_config=LocalJobConfig(eval_program_path=str(HERE / "shinka_evaluator.py"), python_executable=sys.executable),
    db_config=database,
    max_evaluation_jobs=1,
    max_proposal_jobs=1,
    max_db_workers=1,
    verbose=False,
).run()
