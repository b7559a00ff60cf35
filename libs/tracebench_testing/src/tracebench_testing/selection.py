"""A field on which what is kept decides everything, and what a search finds there under true, reversed and shuffled scores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback
from tracebench_testing.toys import Toy, build_dials
from tracebench_testing.trials import Trial

TRUE = "true"
"""The metric that holds the true score, whatever score is shown."""
Show = Callable[[float], float]


def _shuffled(score: float) -> float:
    """Return a number that depends on a score and says nothing of it."""
    return int.from_bytes(hashlib.sha256(f"{score:.6f}".encode()).digest()[:4], "big") / 2**32


SHOWN: Mapping[str, Show] = {"true": lambda score: score, "reversed": lambda score: -score, "shuffled": _shuffled}


def build_field(shown: str) -> Toy:
    """Return four dials of which a call turns one, as often the wrong way as the right way; `shown`: a key of `SHOWN`."""
    toy = build_dials(train=4, validation=4, stride=1.0)
    show, judge = SHOWN[shown], toy.task.guide

    def guide(example: Example, output: Any, context: Context) -> Feedback:
        found = judge(example, output, context)
        return found.model_copy(update={"score": show(found.score), "text": "", "metrics": {TRUE: found.score}})

    return replace(toy, name=f"field-{shown}", task=replace(toy.task, guide=guide))


def reached(trial: Trial) -> float | None:
    """Return the mean true score of the second half of a trial's evaluations; None when it made none."""
    found = [evaluation.metrics[TRUE] for evaluation in trial.evaluations if TRUE in evaluation.metrics]
    return fmean(found[len(found) // 2 :]) if found else None
