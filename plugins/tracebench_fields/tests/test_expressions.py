"""Expressions that are read: how deep, how large, and with how many arguments they may be."""

from __future__ import annotations

import pytest

from tracebench_fields.families.expressions import BadExpressionError, meaning, value

MOST = 10**9


def told(text: str, **given: float) -> float | str:
    meant = meaning(text, ("x",))
    try:
        if isinstance(meant, BadExpressionError):
            raise meant
        return value(meant, given or {"x": 3})
    except BadExpressionError as err:
        return str(err)


@pytest.mark.parametrize("form", ["-{}", "({} + 1)", "(1 + {})", "abs({})"])
def test_an_expression_is_thirty_deep_at_most(form: str) -> None:
    text = "x"
    for _ in range(29):
        text = form.format(text)
    assert isinstance(told(text), int)
    assert told(form.format(text)) == "it has more than 30 brackets within brackets"


@pytest.mark.parametrize(
    ("text", "given", "found"),
    [
        ("x", MOST, MOST),
        ("x", -MOST, -MOST),
        ("x", MOST + 1, f"it comes to more than {MOST}"),
        ("x", -MOST - 1, f"it comes to more than {MOST}"),
        ("x", float("nan"), f"it comes to more than {MOST}"),
        (f"{MOST}", 0, MOST),
        (f"{MOST + 1}", 0, f"`{MOST + 1}` is not allowed in it"),
        ("x / 0", 1, "it divides by zero"),
        ("x % 0", 1, "it divides by zero"),
        ("True", 0, "`True` is not allowed in it"),
        ("y", 0, "`y` is not allowed in it"),
    ],
)
def test_what_an_expression_comes_to_has_a_bound(text: str, given: float, found: float | str) -> None:
    assert told(text, x=given) == found


@pytest.mark.parametrize(("name", "fewest", "most"), [("abs", 1, 1), ("min", 2, 9), ("max", 2, 9)])
def test_a_function_takes_as_many_arguments_as_it_does(name: str, fewest: int, most: int) -> None:
    for count in range(most + 2):
        text = f"{name}({', '.join(str(n) for n in range(1, count + 1))})"
        if fewest <= count <= most:
            assert told(text) == (count if name == "max" else 1)
        else:
            assert told(text) == f"`{text}` is not allowed in it"
    assert told(f"{name}(x, key=x)") == f"`{name}(x, key=x)` is not allowed in it"


@pytest.mark.parametrize(
    ("text", "found"),
    [("7 + x", 10), ("7 - x", 4), ("7 * x", 21), ("7 // x", 2), ("7 / 2", 3.5), ("7 % x", 1), ("-x", -3), ("+x", 3)],
)
def test_signs_mean_what_they_do(text: str, found: float) -> None:
    assert told(text) == found
