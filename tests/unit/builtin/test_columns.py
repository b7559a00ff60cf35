"""Tables in a number of characters: what is left out first, what goes on below, and how wide a text is."""

from __future__ import annotations

import pytest

from tracebench_engine.builtin.columns import cells_of, laid_out, one_line, wrapped

TABLE = [("trainer", "score", "calls", "note"), ("Climber", "0.5", "12", "fine"), ("Annealer", "12.25", "7", "slow")]


def test_a_table_as_wide_as_it_may_be_is_shown_whole() -> None:
    width = len("Climber ") + len("12.25") + len("calls") + len("slow") + 3 * 2

    assert laid_out(TABLE, width=width).lines == [
        "trainer   score  calls  note",
        "Climber     0.5     12  fine",
        "Annealer  12.25      7  slow",
    ]
    assert laid_out(TABLE, width=width).left_out == []
    assert laid_out(TABLE, width=width - 1).left_out == ["note"]


def test_what_is_the_same_in_every_row_goes_first_and_is_told_and_the_first_two_stay() -> None:
    table = [(*row, ("mode", "stub", "stub")[i]) for i, row in enumerate(TABLE)]

    found = laid_out(table, width=30, least=["calls"])
    assert (found.left_out, found.same) == (["mode"], {"mode": "stub"})
    assert laid_out(table, width=25, least=["calls"]).left_out == ["calls", "mode"]
    narrow = laid_out(table, width=14)
    assert narrow.left_out == ["calls", "note", "mode"]
    assert narrow.lines == ["trainer", "    score", "Climber", "    0.5", "Annealer", "    12.25"]
    assert laid_out(table, width=16).lines[1] == "Climber     0.5"


def test_of_one_row_no_column_says_the_same() -> None:
    assert laid_out(TABLE[:2], width=10).same == {}


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 13, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 3, ["one", "two", "thr", "ee"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ("", 4, [""]),
    ],
)
def test_a_text_goes_on_below_from_a_word_on(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("\uff41", 2)])
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, cells: int) -> None:
    assert cells_of(text) == cells


def test_a_line_a_row_cuts_the_first_cell_alone() -> None:
    table = [("task", "score"), ("a-very-long-name-of-a-task", "0.5"), ("b", "1")]

    assert one_line(table, width=19) == ["task          score", "a-very-long…    0.5", "b                 1"]
