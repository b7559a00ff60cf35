from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.specs import Parameter
from tracebench_engine.measure.values import breach

NUMBER = Parameter(name="n", initial=1, kind="number", minimum=0, maximum=10)
TEXT = Parameter(name="t", initial="a", kind="text", max_length=5)
CODE = Parameter(name="c", initial="def f(x): ...", kind="code", signature="def f(x):")
CHOICE = Parameter(name="k", initial="a", kind="choice", choices=("a", "b"))
FILES = Parameter(name="f", initial={"a.py": ""}, kind="files", max_length=6)
DATA = Parameter(name="d", initial={"a": 1}, kind="json")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (NUMBER, 0), (NUMBER, 10.0), (TEXT, "hello"), (CODE, "import math\ndef f(y): return y"), (CODE, "def f(x: broken"),
        (CHOICE, "b"), (DATA, {"b": []}), (FILES, {}), (FILES, {"src/a.py": "abc", "..src/b..": "", ".env": "def"}),
    ],
)  # fmt: skip
def test_what_may_be_evaluated(parameter: Parameter, value: Any) -> None:
    assert breach([parameter], {parameter.name: value}) == ""


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (NUMBER, -1, "at least 0"),
        (NUMBER, 11, "at most 10"),
        (NUMBER, True, "finite number"),
        (NUMBER, float("nan"), "finite number"),
        (NUMBER, "3", "finite number"),
        (NUMBER, float("-inf"), "must be a finite number, not -inf"),
        (NUMBER, 10**400, "must be a number that a float holds"),
        pytest.param(NUMBER, -(10**5000), "must be a number that a float holds", id="5000 digits"),
        (NUMBER, 10**308, "at most 10, not 1e+308"),
        (TEXT, "too long", "at most 5 characters"),
        (TEXT, None, "must be text, not null"),
        (CODE, "def g(x): return x", "must define `def f(x):`"),
        (CHOICE, "c", "must be one of ['a', 'b']"),
        (DATA, [1], "must be an object, not a list"),
        (TEXT, "a\ud800b", r"`t` holds half of a character, '\ud800', which is no text"),
        (CODE, "def f(x): return '\udfff'", "half of a character"),
        (FILES, {"a\ud800": ""}, "half of a character"),
        (FILES, {"a": "\ud800"}, "half of a character"),
        (DATA, {"b": ["\ud800"]}, "half of a character"),
        (DATA, {"b": float("nan")}, "plain JSON with finite numbers"),
        (DATA, {"b": {1}}, "plain JSON with finite numbers"),
    ],
)
def test_what_may_not_be_evaluated_is_told_in_words(parameter: Parameter, value: Any, words: str) -> None:
    assert words in breach([parameter], {parameter.name: value})


@pytest.mark.parametrize(
    "path",
    ["..", "../a", "a/../../b", "a/..", "/a", "a/", "a//b", ".", "./a", "a/./b", "", "a\\b", "..\\a", "a\0b"],
)
def test_a_path_stays_below_its_folder_and_has_one_spelling(path: str) -> None:
    assert "relative POSIX paths without `..`" in breach([FILES], {"f": {"ok.py": "", path: "x"}})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": "", "a/b": ""}, "has `a` as a file and as a folder"),
        ({"a": "1234", "b": "567"}, "at most 6 characters in all files together, not 7"),
        ({"a": 1}, "must map paths to texts"),
        ({1: "a"}, "must map paths to texts"),
        (["a"], "must map paths to texts"),
    ],
)
def test_files_that_may_not_be_evaluated_are_told_in_words(value: Any, words: str) -> None:
    assert words in breach([FILES], {"f": value})


def test_code_that_no_parser_has_room_for_passes_to_its_evaluation() -> None:
    for code in (f"x = {'-' * 100_000}1", "if x:\n pass\n" + "elif x:\n pass\n" * 20_000):
        assert breach([CODE], {"c": code}) == ""


def test_missing_and_unknown_names_are_told() -> None:
    assert breach([NUMBER], {}) == "`n` is missing."
    assert "There is no parameter `m`" in breach([NUMBER], {"n": 1, "m": 2})
