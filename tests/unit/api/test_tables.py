"""Tables fit every width, lose what matters least first, and say so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_core.errors import UsageError
from tracebench_engine.api.console.tables import chosen, laid_out, places_of

HEADERS = ("job", "task", "trainer", "seed", "best", "tokens", "usd")
ROWS = (
    ("041757e6e4e9", "internal:numeric_param", "RandomSearch", "1", "-3.13", "-", "0.0012"),
    ("2b32f12f37a9", "llm4ad:optimization/online_bin_packing", "NoOp", "12", "7", "1200", "-"),
)
TABLE = (HEADERS, *ROWS)
WIDTHS = (40, 60, 80, 120, 200)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_nothing_vanishes_unsaid(width: int) -> None:
    found = laid_out(TABLE, width=width, least=("usd", "tokens"))

    assert max(map(len, found.lines)) <= width
    shown = [
        word for line in found.lines[:2] for word in line.split() if word in HEADERS
    ]  # at 40 the task stands below
    assert [*shown, *found.left_out].count("job") == 1
    assert {*shown, *found.left_out} == {*HEADERS}


def test_the_least_important_go_first_and_the_first_two_stay() -> None:
    whole = max(map(len, laid_out(TABLE, width=200).lines))
    widths = (whole, whole - 1, whole - 1 - len("0.0012  "), 40)
    left = [set(laid_out(TABLE, width=width, least=("usd", "tokens")).left_out) for width in widths]

    assert left[0] == set()
    assert left[1] == {"usd"}
    assert left[2] == {"usd", "tokens"}
    assert not left[3] & {"job", "task"}


def test_what_is_the_same_in_every_row_goes_before_all_else_and_is_told() -> None:
    rows = [("job", "task", "status", "best"), ("041757e6e4e9", "a:t", "ok", "1"), ("2b32f12f37a9", "a:t", "ok", "2")]

    found = laid_out(rows, width=20)

    assert found.lines == ["job           best", "041757e6e4e9     1", "2b32f12f37a9     2"]
    assert found.same == {"task": "a:t", "status": "ok"}
    assert laid_out(rows, width=40).same == {}


def test_words_are_never_cut() -> None:
    found = laid_out([("a", "title"), ("one", "Improves the last candidate again"), ("two", "-")], width=24)

    assert found.lines[1:] == ["one  Improves the last", "     candidate again", "two  -"]

    found = laid_out([("task", "title"), ("a:multiobjective_convex", "A hump at once"), ("b:t", "")], width=30)
    assert found.lines == [
        "task                     title",
        "a:multiobjective_convex  A",
        "                         hump",
        "                         at",
        "                         once",
        "b:t",
    ]
    found = laid_out([("task", "title"), ("a:multiobjective_convex", "Minimise a hump")], width=30)
    assert found.lines == ["task", "    title", "a:multiobjective_convex", "    Minimise a hump"]


def test_numbers_stand_to_the_right_and_text_to_the_left() -> None:
    header, first, second = laid_out(TABLE, width=200).lines

    for name, one, other in (("seed", "1", "12"), ("best", "-3.13", "7")):
        end = header.index(name) + len(name)
        ends = {line.index(f" {text} ") + len(text) + 1 for line, text in ((first, one), (second, other))}
        assert len(ends) == 1, name
        assert end in ends
    assert first.index("RandomSearch") == second.index("NoOp") == header.index("trainer")


@given(
    st.lists(st.lists(st.text(max_size=50), min_size=4, max_size=4), min_size=1, max_size=5),
    st.integers(min_value=34, max_value=220),
)
def test_any_table_fits(rows: list[list[str]], width: int) -> None:
    found = laid_out([("a", "b", "c", "d"), *([" ".join(cell.split()) for cell in row] for row in rows)], width=width)

    assert all(len(line) <= width for line in found.lines)


def test_wide_characters_take_two_columns() -> None:
    found = laid_out([("名前", "b"), ("値", "x"), ("long one", "y")], width=12)

    assert found.lines[0].index("b") == found.lines[2].index("y") - 2


def test_columns_are_chosen_in_their_order_from_any_of_the_tables() -> None:
    names = chosen("best, job", HEADERS, ("rank", "score"))

    assert names == ("best", "job")
    assert [TABLE[1][place] for place in places_of(HEADERS, names)] == ["-3.13", "041757e6e4e9"]
    assert places_of(("rank", "score"), names) == []
    assert chosen(None, HEADERS) is None
    with pytest.raises(UsageError, match=r"No table has all of `best`, `rank`"):
        chosen("best,rank", HEADERS, ("rank", "score"))


@pytest.mark.parametrize(("text", "near"), [("bst", "best"), ("trainr", "trainer"), ("", None), ("zzz", None)])
def test_a_column_that_is_not_there_is_told_with_the_nearest(text: str, near: str | None) -> None:
    with pytest.raises(UsageError, match=r"There is no column") as caught:
        chosen(text, HEADERS)

    assert near is None or f"Did you mean `{near}`?" in str(caught.value)
    assert caught.value.hint == f"--columns '{near or 'job,task,trainer'}'"
