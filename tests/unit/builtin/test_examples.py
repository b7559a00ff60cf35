"""The example tasks: what is right scores 1, and what has no form of an answer is no error of the task."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from tracebench_engine.api import evaluate_task

RIGHT = {"English": "Hello", "Spanish": "Hola", "French": "Bonjour"}


@pytest.mark.parametrize(
    ("greetings", "score"), [(RIGHT, 1.0), ({**RIGHT, "French": "Salut"}, 2 / 3), ({}, 0.0), ("Hello", 0.0)]
)
def test_a_table_of_greetings_scores_by_what_it_holds(greetings: Any, score: float) -> None:
    found = [f.score for f in evaluate_task("trace_examples:greeting_stub", {"greetings": greetings}, split="train")]
    assert fmean(found) == pytest.approx(score)
