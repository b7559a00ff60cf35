"""DSPy's MIPROv2 by hand: instructions alone."""

import dspy
from dspy_world import Program, examples, lm
from world import SEED, TRAIN, VALIDATION, tell

with dspy.context(lm=lm):
    dspy.MIPROv2(
        metric=lambda gold, pred, trace=None: pred.score * 1e4,
        prompt_model=lm,
        task_model=lm,
        auto=None,
        num_candidates=6,
        max_bootstrapped_demos=0,
        max_labeled_demos=0,
        num_threads=1,
        seed=SEED,
    ).compile(
        Program(),
        trainset=examples(TRAIN),
        valset=examples(VALIDATION),
        num_trials=10,
        minibatch=False,
        program_aware_proposer=False,
        fewshot_aware_proposer=False,
    )
tell()
