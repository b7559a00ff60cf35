"""The rule by which an evaluator rejects is told: a condition with its numbers, or the exception that it swallowed; else nothing."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tracebench_llm4ad.adapters.runtime import rejection
from tracebench_llm4ad.adapters.runtime.rejection import Noted, Rejection

EVALUATOR = """
import math

def apart(one, two):
    distance = math.dist(one[:2], two[:2])
    if distance < one[2] + two[2]:
        return False
    return True

def valid(circles):
    try:
        for i in range(len(circles)):
            for j in range(i):
                if not apart(circles[i], circles[j]):
                    return False
        for x, y, r in circles:
            if not (
                r <= x
                and x + r <= 1
            ):
                return False
        return True
    except Exception:
        return False

def total(circles):
    if len(circles) != 2 or not valid(circles):
        return -float("inf")
    return sum(r for _, _, r in circles)

def landed(schedule):
    try:
        checked(schedule)
    except ValueError as err:
        print(err)
        return None
    return 1.0

def checked(schedule):
    if len(schedule) != 3:
        raise ValueError(f"a schedule of 3, not of {len(schedule)}.")

def odd_one(numbers):
    def even(n):
        if n % 2:
            return False
        return True
    odd = []
    for n in numbers:
        if not even(n):
            odd.append(n)
    if len(odd) > 1:
        return None
    return 1.0

def endless():
    while True:
        pass

def silent():
    return None

def no(value):
    if True:
        return value

def sorted_out(kind):
    if kind == "first":
        return 1.0
    elif kind == "second":
        return None
    else:
        if kind:
            pass
        return None

def many(a, b, c, d, e, f, g, long, thing):
    if a or b or c or d or e or f or g or long or thing:
        return None

def lengthy(long, exact, thing):
    if long is exact or exact is not thing:
        return None

def asked_before(circle):
    if apart(circle, circle):
        pass
    if circle:
        return None

def again(value):
    try:
        raise KeyError(value)
    except KeyError:
        pass
    if value:
        return None
"""


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    file = tmp_path_factory.mktemp("task") / "evaluation.py"
    file.write_text(EVALUATOR)
    spec = importlib.util.spec_from_file_location("a_foreign_evaluation", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rule(evaluator: ModuleType) -> Callable[..., str]:
    def told(name: str, *args: Any) -> str:
        folder = str(Path(str(evaluator.__file__)).parent)
        return Rejection(folder).watch(lambda: getattr(evaluator, name)(*args))

    return told


def test_the_innermost_condition_is_told_with_its_numbers(rule: Callable[..., str]) -> None:
    words = rule("total", [(0.25, 0.5, 0.25), (0.5, 0.5, 0.25)])
    assert words.startswith("`distance < one[2] + two[2]` in `apart`, with distance = 0.25, one = (0.5, 0.5, 0.25)")


def test_an_answer_that_was_all_right_is_not_blamed(rule: Callable[..., str]) -> None:
    words = rule("total", [(0.1, 0.5, 0.25), (0.8, 0.5, 0.1)])
    assert words == "`not (r <= x and x + r <= 1)` in `valid`, with r = 0.25, x = 0.1"
    assert rule("odd_one", [1, 2, 3]).startswith("`len(odd) > 1` in `odd_one`, with odd = [1, 3]")
    assert rule("total", [(0.2, 0.5, 0.1)]).startswith("`len(circles) != 2 or not valid(circles)` in `total`")


def test_an_exception_that_was_swallowed_is_told(rule: Callable[..., str]) -> None:
    assert rule("landed", {"schedule": {}}) == "ValueError: a schedule of 3, not of 1."
    assert rule("total", [None, None]).startswith("TypeError: ")


def test_what_is_not_rejected_or_not_explained_has_no_rule(
    rule: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rule("total", [(0.25, 0.5, 0.2), (0.75, 0.5, 0.2)]) == ""
    assert rule("silent") == ""
    monkeypatch.setattr(rejection, "SECONDS", 0.05)
    assert rule("endless") == ""


def test_noted_answers_are_given_again_as_they_were() -> None:
    kept = [1, 2]
    noted = Noted(lambda: kept)
    noted().append(3)
    again = noted.again()

    assert noted() == [1, 2, 3]
    assert again() == [1, 2]


def test_what_a_function_wrote_into_its_list_is_written_again() -> None:
    noted = Noted(lambda _step, places: places.append(7), written_back=1)
    noted(0, [])
    places: list[int] = []
    noted.again()(0, places)

    assert places == [7]


@pytest.mark.parametrize("value", [None, False, math.nan, math.inf, -math.inf, np.bool_(False), np.float64("nan")])
def test_none_false_and_what_is_not_finite_reject(rule: Callable[..., str], value: Any) -> None:
    assert rule("no", value) == "`True` in `no`"


@pytest.mark.parametrize("value", [True, 0, 0.0, "", [], np.bool_(True), np.zeros(2), 10**400])
def test_no_other_value_rejects(rule: Callable[..., str], value: Any) -> None:
    assert rule("no", value) == ""


def test_only_the_condition_that_held_is_told(rule: Callable[..., str]) -> None:
    assert rule("sorted_out", "second") == "`kind == 'second'` in `sorted_out`, with kind = 'second'"
    assert rule("sorted_out", "third") == "", "what did not hold is no rule"
    assert rule("asked_before", (0, 0, 1)) == "`circle` in `asked_before`, with circle = (0, 0, 1)"
    assert rule("again", 3) == "`value` in `again`, with value = 3"


def test_six_variables_are_told_each_in_at_most_100_characters(rule: Callable[..., str]) -> None:
    words = rule("many", 0, 0.5, "c", (), [], True, 7, 8, 9)
    assert words.partition(", with ")[2] == "a = 0, b = 0.5, c = 'c', d = (), e = [], f = True"
    words = rule("lengthy", "x" * 99, "x" * 98, {"a": 1})
    assert words.partition(", with ")[2] == f"exact = {'x' * 98!r}"
    words = rule("lengthy", np.arange(7), np.arange(6), np.array([2.5]))
    assert words.partition(", with ")[2] == "exact = [0, 1, 2, 3, 4, 5], thing = 2.5"


def test_only_functions_in_the_folder_are_watched_and_no_longer_than_that(evaluator: ModuleType) -> None:
    before = sys.gettrace()
    folder = Path(str(evaluator.__file__)).parent
    assert Rejection(str(folder)[:-1]).watch(evaluator.silent) == ""
    assert Rejection(str(folder)[:-1]).watch(lambda: evaluator.no(None)) == "", "its name only begins alike"
    with pytest.raises(TypeError):
        Rejection(str(folder)).watch(lambda: evaluator.apart(1, 2))
    assert sys.gettrace() is before
