"""What a guide says is made fit to be sent to a model."""

from __future__ import annotations

from typing import Any

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Feedback
from tracebench_engine.measure.attempt import WORDS, classify


def kept(text: str) -> Any:
    """Return the text of a verdict as it is kept."""
    feedback = classify(EvaluationFailed(Feedback(score=0.0, text=text, status="invalid")))
    assert isinstance(feedback, Feedback)
    return feedback.text


def test_half_a_character_is_replaced_and_a_whole_one_is_kept() -> None:
    assert (
        kept("a \ud83d b \U0001f600 c \udfff") == "a \N{REPLACEMENT CHARACTER} b \U0001f600 c \N{REPLACEMENT CHARACTER}"
    )


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = kept("a" * WORDS + "b" * WORDS)
    assert text.startswith("a" * 100)
    assert text.endswith("b" * 100)
    assert len(text) < WORDS + 10
