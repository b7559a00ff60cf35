"""Mutations of values: of the same kind as before, within bounds, the same from the same seed, and never what was there before."""

from __future__ import annotations

import ast
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracebench_core.proposing.mutation import change_one, is_python, looks_like_code, mutate
from tracebench_core.specs import Parameter

CODE = "def f(x, times=3):\n    total = 2\n    for k in range(10):\n        total += 0.5 * k - 1e-3\n    return total\n"
PROSE = "Read it. Think about it! Answer it?"
NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, allow_nan=False))


def some(value: Any, *, hint: dict[str, Any] | None = None, seeds: int = 60) -> list[Any]:
    return [mutate(value, random.Random(seed), hint=hint) for seed in range(seeds)]


@settings(max_examples=50)
@given(value=NUMBERS, seed=st.integers(0, 99), low=st.integers(-50, 0), wide=st.integers(1, 100))
def test_a_number_stays_of_its_type_and_within_its_bounds(value: float, seed: int, low: int, wide: int) -> None:
    changed = mutate(value, random.Random(seed), hint={"minimum": low, "maximum": low + wide})
    assert type(changed) is type(value)
    assert low <= changed <= low + wide
    assert type(mutate(value, random.Random(seed))) is type(value)


def test_a_whole_number_always_moves_and_by_about_its_own_size() -> None:
    moved = [after - 1000 for after in some(1000, seeds=800)]
    assert 0 not in moved
    spread = (sum(m * m for m in moved) / len(moved)) ** 0.5
    assert 1000 < spread < 2200  # an eighth of the steps is four times as large: about 1,560
    assert sum(abs(m) > 3000 for m in moved) in range(20, 80)
    assert set(some(0, seeds=200)) >= {-1, 1}
    assert max(map(abs, some(0, seeds=200))) <= 20
    near = some(10**9, hint={"minimum": 10**9 - 5, "maximum": 10**9 + 5}, seeds=100)
    assert len(set(near)) > 5  # steps are no wider than the bounds


def test_a_float_is_written_in_six_digits() -> None:
    assert all(float(f"{after:.6g}") == after for after in some(0.123456789))
    assert len(set(some(2.5))) == 60


@pytest.mark.parametrize("value", [10**400, -(10**400), 10**301, 1.7e308, -1.7e308])
def test_a_number_beyond_any_step_stays(value: float) -> None:
    assert some(value, seeds=9) == [value] * 9
    assert some([value], seeds=9) == [[value]] * 9


def test_a_number_just_within_reach_moves_and_is_still_a_number() -> None:
    for value in (10**299, 1e299):
        assert all(after != value and abs(after) < 1e301 for after in some(value))


@pytest.mark.parametrize("literal", ["1" + "0" * 400, "9" * 5000, "1e999"])
def test_a_literal_that_no_float_holds_stays_and_others_change(literal: str) -> None:
    found = some(f"x = {literal}\ny = 5", hint={"kind": "code"}, seeds=20)
    assert {after.partition("\n")[0] for after in found} == {f"x = {literal}"}


def test_flags_choices_lists_and_objects() -> None:
    assert (some(True, seeds=3), some(False, seeds=3)) == ([False] * 3, [True] * 3)
    assert {*some("a", hint={"choices": ["a", "b", "c"]})} == {"b", "c"}
    assert some("a", hint={"choices": ["a"]}, seeds=3) == ["a"] * 3
    assert (mutate([], random.Random(1)), mutate({}, random.Random(1)), mutate(None, random.Random(1))) == (
        [],
        {},
        None,
    )
    for after in some([1, 2, 3]):
        assert len(after) == 3
        assert sum(a != b for a, b in zip(after, [1, 2, 3], strict=True)) == 1
    for after in some({"a": 1, "b": [2]}):
        assert [*after] == ["a", "b"]
        assert (after["a"] != 1) != (after["b"] != [2])
    assert {tuple(a != b for a, b in zip(after, [1, 2, 3], strict=True)) for after in some([1, 2, 3])} == {
        (True, False, False), (False, True, False), (False, False, True),
    }  # fmt: skip


def test_code_changes_in_one_to_three_numbers_below_its_signature() -> None:
    numbers = re.compile(r"[\d.]+(?:e-\d+)?")
    counts = set()
    for after in some(CODE, seeds=200):
        ast.parse(after)
        assert after.splitlines()[0] == "def f(x, times=3):"
        assert numbers.sub("#", after) == numbers.sub("#", CODE)
        pairs = zip(numbers.findall(after), numbers.findall(CODE), strict=True)
        counts.add(sum(new != old for new, old in pairs))
    assert counts == {1, 2, 3}


def test_what_has_no_number_and_what_is_no_code_is_left_or_taken_for_text() -> None:
    assert some("def f(x):\n    return x\n", seeds=3) == ["def f(x):\n    return x\n"] * 3
    assert some("def f(", hint={"kind": "code"}, seeds=3) == ["def f("] * 3
    assert some("x = 3\n", hint={"kind": "code"}, seeds=3) != ["x = 3\n"] * 3
    long = "async def f(\n    x=1,\n    y=2,  # so: many\n):\n    return 3\n"
    assert {after.partition("):\n")[0] for after in some(long)} == {long.partition("):\n")[0]}
    assert all("7" not in after for after in some("def f(): return 5\nIt is 3.", hint={"kind": "text"}, seeds=9))


@pytest.mark.parametrize(
    ("text", "python", "code"),
    [
        ("def f():\n    pass", True, True),
        ("  def f(self):\n    return 1", True, True),
        ("class A: pass", True, True),
        ("async def f(): pass", True, True),
        ("x = 1", True, False),
        ("def f(", False, False),
        ("define it", False, False),
        ("a\0b", False, False),
        ("", True, False),
    ],
)
def test_what_is_python_and_what_defines_something(text: str, *, python: bool, code: bool) -> None:
    assert (is_python(text), looks_like_code(text)) == (python, code)


def test_prose_keeps_its_words_or_loses_a_sentence_or_gains_one() -> None:
    sentences = {"Read it.", "Think about it!", "Answer it?"}
    shapes = set()
    for after in some(PROSE, seeds=300):
        assert after != PROSE
        found = {s for s in sentences if s in after}
        shapes.add((len(found), len(after.split()) - len(PROSE.split())))
    assert (3, 0) in shapes  # reordered
    assert any(kept == 2 and words < 0 for kept, words in shapes)  # one is dropped, never two
    assert all(words > -4 for _, words in shapes)
    assert any(words > 0 for _, words in shapes)  # advice is added
    assert all(len(after) <= 12 for after in some(PROSE, hint={"max_length": 12}))
    assert {after.split()[0] for after in some("alone")} == {"alone"}


def test_one_parameter_changes_as_its_kind_and_bounds_allow() -> None:
    change = change_one([
        Parameter(name="a", initial=1.0, kind="number", minimum=0, maximum=2),
        Parameter(name="b", initial="x", kind="choice", choices=("x", "y")),
    ])  # fmt: skip
    seen = [change({"a": 1.0, "b": "x"}, random.Random(seed)) for seed in range(60)]
    assert {(v["a"] == 1.0, v["b"] == "x") for v in seen} == {(False, True), (True, False)}
    assert all(0 <= v["a"] <= 2 and v["b"] in {"x", "y"} for v in seen)  # type: ignore[operator]  # kind `number`


@pytest.mark.parametrize(
    "text", ["\n" * 50_000 + "x", (" " * 200 + "\n") * 2000, f"def f(): return {'-' * 100_000}1"], ids=len
)
def test_a_text_of_any_shape_is_looked_at_in_a_moment(text: str) -> None:
    assert not looks_like_code(text)
    assert looks_like_code(f"\n\n  # so\n  def f(): pass\n{'x = 1'}\n") is False
    assert looks_like_code("\n\r\n\fdef f(): pass\n")
