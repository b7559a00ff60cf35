"""DSPy's SIMBA: rules alone."""

import dspy
import recorded
from dspy_world import compiled, examples, feedback, lm
from recorded import settings

compiled(
    dspy.SIMBA,
    {
        "metric": feedback,
        "bsize": min(settings.bsize, len(recorded.train)),
        "num_candidates": settings.num_candidates,
        "max_steps": settings.max_steps,
        "max_demos": 0,
        "prompt_model": lm,
        "num_threads": 1,
        "temperature_for_sampling": settings.temperature_for_sampling,
        "temperature_for_candidates": settings.temperature_for_candidates,
    },
    {"trainset": examples(recorded.train), "seed": recorded.seed},
)
