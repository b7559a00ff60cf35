"""A task on which nothing can be trained: the engine must say so, and do nothing else."""

from __future__ import annotations

from tracebench_core.specs import Feedback
from tracebench_engine.builtin.tasks.simple import SimpleTask


def build() -> SimpleTask:
    """No parameters; a program that returns nothing."""
    return SimpleTask(
        parameters=[],
        objective="Nothing here can be changed.",
        program=lambda *_: None,
        guide=lambda *_: Feedback(score=0.0),
    )
