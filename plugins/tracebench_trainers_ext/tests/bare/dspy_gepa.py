"""DSPy's GEPA by hand."""

import dspy
from dspy_world import Program, examples, lm
from world import SEED, TRAIN, VALIDATION, tell


def metric(gold, pred, trace=None, pred_name=None, pred_trace=None):
    return dspy.Prediction(score=pred.score, feedback=f"The score is {pred.score:g}.")


with dspy.context(lm=lm):
    dspy.GEPA(
        metric=metric,
        max_metric_calls=60,
        reflection_lm=lm,
        reflection_minibatch_size=3,
        skip_perfect_score=False,
        failure_score=-1.0,
        num_threads=1,
        seed=SEED,
        warn_on_score_mismatch=False,
    ).compile(Program(), trainset=examples(TRAIN), valset=examples(VALIDATION))
tell()
