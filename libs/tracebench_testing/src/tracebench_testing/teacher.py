"""The teacher: a rule-based stand-in for a model, for tasks whose solution it knows. It is no language model.

It reads the current values from the prompt, in the format of `proposing.answer_format`, and ignores everything else in it, feedback and
history included. With a set probability it improves one value, with another it harms one, and otherwise it changes nothing. So what a
trainer reaches with it is owed to the trainer's choice of what to improve and what to keep, and to nothing else.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from tracebench_core.ids import derive_seed
from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.specs import Values

Rule = Callable[[Values, random.Random], Values]
"""Returns changed values; may not change its argument."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the teacher knows of one task."""

    improve: Rule
    harm: Rule


@dataclass(frozen=True, slots=True)
class Teacher:
    """Answers prompts about one task; call it as an `Answer`."""

    lesson: Lesson
    improves: float = 0.5
    """Probability that a call improves a value."""
    harms: float = 0.3
    """Probability that a call harms one."""
    seed: int = 0

    def __call__(self, prompt: str, call: int) -> str:
        """Return an answer that depends on the values shown, the seed and the number of the call."""
        values = shown_values(prompt)
        if values is None:
            return "I see no current values."
        rng = random.Random(derive_seed(self.seed, "teacher", call))  # noqa: S311 - reproducible, not secret
        draw = rng.random()
        if draw < self.improves:
            values = self.lesson.improve(values, rng)
        elif draw < self.improves + self.harms:
            values = self.lesson.harm(values, rng)
        return json.dumps({"reasoning": "A rule, not a thought.", "values": values})
