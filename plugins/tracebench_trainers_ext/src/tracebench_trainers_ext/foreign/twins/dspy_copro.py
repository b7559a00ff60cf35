"""DSPy's COPRO."""

import dspy
import recorded
from dspy_world import compiled, examples, lm, scaled
from recorded import settings

compiled(
    dspy.COPRO,
    {
        "prompt_model": lm,
        "metric": scaled,
        "breadth": settings.breadth,
        "depth": settings.depth,
        "init_temperature": settings.init_temperature,
    },
    {"trainset": examples(recorded.train), "eval_kwargs": {"num_threads": 1, "display_progress": False}},
)
