"""Differences, configs from the form, and commands that refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracebench_core.errors import UsageError
from tracebench_engine.config import parse_config
from tracebench_viewer import launching, look
from tracebench_viewer.commands import ask, forget, installed
from tracebench_viewer.diffs import LONGEST, as_text, side_by_side
from tracebench_viewer.launching import Wish


def test_every_line_of_both_texts_is_there() -> None:
    before, after = "a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"
    rows = side_by_side(before, after)
    assert [row.left for row in rows if row.left_number] == before.splitlines()
    assert [row.right for row in rows if row.right_number] == after.splitlines()
    assert [row.kind for row in rows] == ["same", "changed", "same", "same", "added"]


def test_equal_stretches_are_cut_to_what_stands_around_changes() -> None:
    same = [f"line {i}" for i in range(100)]
    rows = side_by_side("\n".join([*same, "old"]), "\n".join([*same, "new"]))
    assert [row.kind for row in rows] == ["skipped", "same", "same", "same", "changed"]
    assert rows[0].left == "97 equal lines"


def test_equal_texts_and_no_texts() -> None:
    assert [row.kind for row in side_by_side("x\ny", "x\ny")] == ["same", "same"]
    assert side_by_side("", "") == []
    assert [row.kind for row in side_by_side("", "new")] == ["added"]


def test_huge_texts_are_cut() -> None:
    rows = side_by_side("x" * 10**6, "y\n" * 10**5)
    assert len(rows) <= LONGEST
    assert max(len(row.left) for row in rows) == LONGEST


def test_values_of_every_kind_are_text() -> None:
    assert as_text("<script>") == "<script>"
    assert as_text({"b": 1, "a": [None]}) == '{\n "a": [\n  null\n ],\n "b": 1\n}'


def test_a_form_makes_a_config_that_is_understood_as_meant() -> None:
    wish = Wish(
        ["internal:numeric_param"],
        ["BestOfN", "NoOp"],
        range(1, 4),
        budget={"evaluations": 10, "usd": 0.5},
        workers=2,
        tags=("a: b",),
        record=True,
    )
    import yaml

    config = parse_config(yaml.safe_load(launching.config_text(wish)))
    assert config.seeds == (1, 2, 3)
    assert [trainer.id for trainer in config.trainers] == ["BestOfN", "NoOp"]
    assert (config.budget.evaluations, config.budget.usd, config.max_workers, config.llm.record) == (10, 0.5, 2, True)


def test_a_config_that_is_wrong_is_refused_in_the_commands_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        launching.resolve("tasks: [internal:numeric_param]\ntrainerz: []\n", tmp_path)
    assert "trainerz" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_installed_is_asked_once_until_somebody_looks_again() -> None:
    forget()
    plugins, trainers = installed("plugins", "list-trainers --all")
    assert {"internal"} <= {plugin["name"] for plugin in plugins["plugins"]}
    assert any(trainer["id"] == "NoOp" for trainer in trainers["trainers"])
    assert installed("plugins")[0] is plugins
    forget()
    assert installed("plugins")[0] is not plugins


def test_a_command_that_refuses_is_quoted() -> None:
    with pytest.raises(UsageError, match="There is no run"):
        ask("show", "/nowhere/at/all")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (1234567, "1,234,567"), (0.123456, "0.1235"), (-2.5, "-2.5"), (1e9, "1,000,000,000")],
)
def test_numbers_have_the_digits_that_a_reader_needs(value: float | None, text: str) -> None:
    assert look.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (0.04, "0.0 s"), (61, "1 min 1 s"), (3700, "1 h 1 min"), (90000, "1 d 1 h")]
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    assert look.duration(seconds) == text


def cut(text: str, spans: tuple[tuple[int, int], ...]) -> list[str]:
    return [text[start:end] for start, end in spans]


def test_the_words_that_changed_are_marked() -> None:
    (row,) = side_by_side("rounds, reach = 128, 0.5, 3", "rounds, reach = 128, 0.496666, 3")
    assert cut(row.left, row.left_words) == ["0.5"]
    assert cut(row.right, row.right_words) == ["0.496666"]


def test_lines_without_much_in_common_and_long_ones_are_marked_whole() -> None:
    (other,) = side_by_side("alpha beta gamma", "x = [1, 2, 3]")
    assert (other.kind, other.left_words, other.right_words) == ("changed", (), ())
    (long,) = side_by_side("a " * 600, "b " * 600)
    assert (long.left_words, long.right_words) == ((), ())


def test_words_are_counted_in_characters_as_people_do() -> None:
    (row,) = side_by_side("say 🎴 and 🎲 to all of it", "say 🎴 and 🎯 to all of it")
    assert (cut(row.left, row.left_words), cut(row.right, row.right_words)) == (["🎲"], ["🎯"])
