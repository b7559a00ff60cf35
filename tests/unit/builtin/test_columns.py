"""Tables in a number of characters: what is left out first, what goes on below, and how wide a text is."""

from __future__ import annotations

from typing import Any

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


LAID_OUT: list[tuple[Any, ...]] = [
    ([("task", "n", "note"), ("a", "1", "one two"), ("bb", "-", "three")], 30, [], (["task  n  note", "a     1  one two",
        "bb    -  three"], [], {})),
    ([("task", "n", "note"), ("a", "1", "one two"), ("bb", "-", "three")], 15, [], (["task  n", "a     1", "bb    -"], ["note"], {})),
    ([("task", "n", "note"), ("a", "1", "one two"), ("bb", "-", "three")], 11, [], (["task  n", "a     1", "bb    -"], ["note"], {})),
    ([("task", "n", "note"), ("a", "1", "one two"), ("bb", "-", "three")], 8, [], (["task  n", "a     1", "bb    -"], ["note"], {})),
    ([("task", "n", "note"), ("a", "1", "one two"), ("bb", "-", "three")], 5, [], (["task", "    n", "a", "    1", "bb", "    -"],
        ["note"], {})),
    ([("n", "m"), ("1", "x")], 20, [], (["n  m", "1  x"], [], {})),
    ([("n", "x"), ("", "a"), ("-", "b"), ("unknown", "c")], 20, [], (["n        x", "         a", "-        b", "unknown  c"], [], {})),
    ([("n", "x"), ("1", "a"), ("2 %", "b"), ("3/7", "c"), ("1e-5", "d"), ("+1,000.5", "e")], 30, [], (["       n  x", "       1  a",
        "     2 %  b", "     3/7  c", "    1e-5  d", "+1,000.5  e"], [], {})),
    ([("n", "x"), ("1x", "a"), ("2", "b")], 30, [], (["n   x", "1x  a", "2   b"], [], {})),
    ([("a",), ("long word",)], 4, [], (["a", "long", "word"], [], {})),
    ([("a", "b", "c", "d"), ("1", "2", "3", "4"), ("1", "5", "3", "4")], 4, ["b", "zz"], (["a  b", "1  2", "1  5"], ["c", "d"], {"c":
        "3", "d": "4"})),
    ([("日本", "b"), ("x", "日"), ("yyy", "z")], 20, [], (["日本  b", "x     日", "yyy   z"], [], {})),
    ([("first", "second", "third"), ("a b c", "dd", "e"), ("f", "g h", "i")], 9, [], (["first", "    secon", "    d", "a b c", "    dd",
        "f", "    g h"], ["third"], {})),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "width", "least", "layout"), LAID_OUT)
def test_a_table_is_laid_out_as_it_fits(cells: Any, width: int, least: list[str], layout: Any) -> None:
    assert tuple(laid_out(cells, width=width, least=least)) == layout


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (20, ["task           score", "xxxxxxxxxxxx…    0.5"]),
        (19, ["task          score", "xxxxxxxxxxx…    0.5"]),
        (7, ["task", "    sco", "    re", "xxxxx…", "    0.5"]),
    ],
)
def test_a_first_cell_is_cut_to_what_is_left_of_the_width_and_to_six_at_least(width: int, lines: list[str]) -> None:
    assert one_line([("task", "score"), ("x" * 20, "0.5")], width=width) == lines
    assert one_line([("task",), ("x" * 20,)], width=12) == ["task", "xxxxxxxxx…"]


def test_a_wide_character_is_never_halved() -> None:
    assert [wrapped("日本語", width) for width in (6, 5, 4, 3, 2)] == [
        ["日本語"], ["日本", "語"], ["日本", "語"], ["日", "本", "語"], ["日", "本", "語"],
    ]  # fmt: skip
