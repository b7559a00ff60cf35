"""DSPy's entrance to GEPA."""

import dspy
import recorded
from dspy_world import compiled, examples, feedback, lm
from recorded import settings
from texts import planned_calls


def metric(gold, prediction, trace=None, pred_name=None, pred_trace=None):
    return feedback(gold, prediction)


compiled(
    dspy.GEPA,
    {
        "metric": metric,
        "max_metric_calls": planned_calls(),
        "reflection_lm": lm,
        "reflection_minibatch_size": min(settings.reflection_minibatch_size, len(recorded.train)),
        "candidate_selection_strategy": settings.candidate_selection_strategy,
        "skip_perfect_score": settings.perfect_score is not None,
        "perfect_score": 1.0 if settings.perfect_score is None else settings.perfect_score,
        "failure_score": -1.0,
        "use_merge": settings.use_merge,
        "num_threads": 1,
        "seed": recorded.seed,
        "warn_on_score_mismatch": False,
    },
    {"trainset": examples(recorded.train), "valset": examples(recorded.validation)},
)
