"""ShinkaEvolve over one piece of code: its asynchronous islands, each evaluation a process of its own at the door."""

import asyncio
import os
import random
import sys
from pathlib import Path

import numpy as np
from openai import OpenAIError
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig
from shinka.llm import llm, query

from . import files, knobs
from .model import MOST_FAILURES, ModelGone
from .ordered import draw_ids
from .shinka_markers import without_markers
from .task import settings_of

HELD = (
    "task_sys_msg",
    "num_generations",
    "llm_models",
    "embedding_model",
    "init_program_path",
    "results_dir",
    "job_type",
    "language",
)
"""Fields of the library's evolution that the bench holds."""
START, END = "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n"
KEY = "LOCAL_OPENAI_API_KEY"
EVALUATOR = '''"""Evaluates a program file at the job's door, as the library calls it."""

from tracebench_adapters.shinka_evaluate import main

main()
'''
ASK = query.query_local_openai_async.__wrapped__  # what the library tries twenty times, and waits up to 20 s in between


def train(task, settings):
    """Evolve until the generations, the budget or the model end."""
    settings = settings_of(settings)
    random.seed(task.seed)  # the library draws islands, parents and patches from both
    np.random.seed(task.seed % 2**32)
    draw_ids(task.seed)
    ((name, code),) = task.initial.items()
    Path("initial.py").write_text(f"{START}{code.rstrip()}\n{END}")
    Path("evaluate.py").write_text(EVALUATOR)
    endpoint = task.endpoint()
    os.environ[KEY] = endpoint.api_key
    sampling = {"temperatures": [0.7 if settings.temperature is None else settings.temperature]}
    if settings.max_tokens is not None:
        sampling["max_tokens"] = settings.max_tokens
    evolution = EvolutionConfig(
        task_sys_msg=files.instructions(task),
        num_generations=files.planned_iterations(task, settings.iterations),
        patch_types=list(settings.patch_types),
        patch_type_probs=[1.0 / len(settings.patch_types)] * len(settings.patch_types),
        llm_models=[f"local/{endpoint.model}@{endpoint.base_url}"],
        llm_dynamic_selection=None,
        llm_kwargs=sampling,
        meta_rec_interval=None,
        embedding_model=None,
        init_program_path=str(Path("initial.py").absolute()),
        results_dir=str(Path("shinka_output").absolute()),
        use_text_feedback=True,
        max_patch_resamples=1,
    )
    database = DatabaseConfig(db_path="shinka.sqlite", num_islands=settings.num_islands)
    own = settings.library.pop("database", {})
    runner = ShinkaEvolveRunner(
        evo_config=knobs.lay(evolution, settings.library, held=HELD),
        job_config=LocalJobConfig(
            eval_program_path=str(Path("evaluate.py").absolute()), python_executable=sys.executable
        ),
        db_config=knobs.lay(database, own, held=("db_path",)),
        max_evaluation_jobs=1,
        max_proposal_jobs=1,
        max_db_workers=1,
        verbose=False,
    )
    asyncio.run(evolve(runner))
    best = Path("shinka_output", "best", "main.py")  # kept there by the library
    if best.exists():
        task.measure({name: without_markers(best.read_text())}, task.validation, origin="shinka")


async def evolve(runner):
    """Run the library with one call for each proposal, for the gateway has tried it several times already.

    Raises:
        ModelGone: when too many calls in a row failed.
    """
    failures, run = 0, asyncio.ensure_future(runner.run_async())

    async def ask_once(client, *args, **kwargs):
        nonlocal failures
        try:
            answer = await ASK(client.with_options(max_retries=0), *args, **kwargs)
        except OpenAIError:
            failures += 1
            if failures >= MOST_FAILURES:
                run.cancel()
            raise
        failures = 0
        return answer

    llm.MAX_RETRIES = 1
    query.query_local_openai_async = ask_once
    await asyncio.wait([run])
    if failures >= MOST_FAILURES:
        raise ModelGone(f"{failures} calls in a row failed; what they were told is in the job's `stdout.log`.")
    run.result()
