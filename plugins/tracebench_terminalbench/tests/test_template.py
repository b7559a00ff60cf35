from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_terminalbench.template import template_problem, with_advice

FRAME = (
    'Answer as {{"commands": []}}.\n\nTask Description:\n{instruction}\n\nCurrent terminal state:\n{terminal_state}\n'
)


@given(st.text())
def test_no_advice_can_break_the_frame(advice: str) -> None:
    filled = with_advice(FRAME, advice).format(instruction="DO IT", terminal_state="$")

    assert template_problem(with_advice(FRAME, advice)) == ""
    assert '{"commands": []}' in filled
    assert advice.strip() in filled


def test_without_advice_the_frame_is_harbors_own() -> None:
    assert with_advice(FRAME, " \n") == FRAME


def test_advice_comes_before_the_task_and_after_the_format() -> None:
    filled = with_advice(FRAME, "Look {first}.").format(instruction="DO IT", terminal_state="$")

    assert filled.index("commands") < filled.index("Look {first}.") < filled.index("DO IT")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{instruction} {terminal_state} {", "cannot be filled in"),
        ("{instruction} {terminal_state} }", "cannot be filled in"),
        ('{instruction} {terminal_state} {"commands": 1}', "cannot be filled in"),
        ("{instruction} {terminal_state} {}", "cannot be filled in"),
        ("{instruction.__class__.nothing} {terminal_state}", "cannot be filled in"),
        ("{instruction}", "lacks {terminal_state}"),
        ("", "lacks {instruction}, {terminal_state}"),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_told_why(text: str, words: str) -> None:
    assert words in template_problem(text)
