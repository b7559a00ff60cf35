"""DSPy's MIPROv2: instructions alone."""

import dspy
import recorded
from dspy_world import compiled, examples, lm, scaled
from recorded import settings

cap, size = recorded.evaluations, len(recorded.validation)
compiled(
    dspy.MIPROv2,
    {
        "metric": scaled,
        "prompt_model": lm,
        "task_model": lm,
        "auto": None,
        "num_candidates": settings.num_candidates,
        "max_bootstrapped_demos": 0,
        "max_labeled_demos": 0,
        "init_temperature": settings.init_temperature,
        "num_threads": 1,
        "seed": recorded.seed,
    },
    {
        "trainset": examples(recorded.train),
        "valset": examples(recorded.validation),
        "num_trials": settings.num_trials or (10 if cap is None else max(1, min(30, cap // size - 1))),
        "minibatch": False,
        "minibatch_size": min(35, size),
        "program_aware_proposer": settings.program_aware_proposer,
        "data_aware_proposer": settings.data_aware_proposer,
        "tip_aware_proposer": settings.tip_aware_proposer,
        "fewshot_aware_proposer": False,
    },
)
