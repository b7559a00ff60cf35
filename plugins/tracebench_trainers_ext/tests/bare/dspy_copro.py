"""DSPy's COPRO by hand."""

import dspy
from dspy_world import Program, examples, lm
from world import TRAIN, tell

with dspy.context(lm=lm):
    dspy.COPRO(prompt_model=lm, metric=lambda gold, pred, trace=None: pred.score * 1e4, breadth=3, depth=3).compile(
        Program(), trainset=examples(TRAIN), eval_kwargs={"num_threads": 1, "display_progress": False}
    )
tell()
