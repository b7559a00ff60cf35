"""What is taken off around an answer, and which numbers a text holds, each at the edge of what counts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.numbers import numbers_in, plain


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{4}", "4"),
        (r"so \boxed {a{b}c}.", "a{b}c"),
        (r"\boxed{1} or \fbox{2}", "2"),
        (r"\boxed{1", None),
        ("4", None),
        (r"\boxed{}", ""),
        (r"\boxed{1} or \boxed{2", None),
    ],
)
def test_the_last_box_counts_with_its_braces_balanced(text: str, content: str | None) -> None:
    assert boxed(text) == content


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("**4**", "4"),
        ("__4__", "4"),
        ("*4*", "4"),
        ("_4_", "4"),
        ("`4`", "4"),
        ('"4"', "4"),
        ("'4'", "4"),
        ("“4”", "4"),
        ("«4»", "4"),
        ("$4$", "4"),
        ("$$4$$", "4"),
        (r"\(4\)", "4"),
        (r"\[4\]", "4"),
        (r"\text{four}", "four"),
        (r"$\boxed{4}$", "4"),
        ("```python\n4\n```", "4"),
        ("```\n4```", "4"),
        ("- 4", "4"),
        ("=> 4", "4"),
        ("-4", "-4"),
        (" 4. ", "4"),
        ("4..", "4.."),
        ("**", "**"),
        ("''", "''"),
        ('"a" or "b"', '"a" or "b"'),
        ("*a", "*a"),
        (r"so \boxed{4}", r"so \boxed{4}"),
        (r"\text{a{b}}", r"\text{a{b}}"),
        ("", ""),
        ('**"4."**', "4"),
    ],
)
def test_decoration_goes_where_it_holds_all_of_the_answer(text: str, inner: str) -> None:
    assert bare(text) == inner


def test_eight_decorations_inside_each_other_are_taken_off_and_a_ninth_stays() -> None:
    assert bare("- " * 8 + "4") == "4"
    assert bare("- " * 9 + "4") == "- 4"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4", [4]),
        ("-4", [-4]),
        ("\u22124", [-4]),
        ("+4", [4]),
        ("$-4", [-4]),
        ("-$4", [-4]),
        ("--4", [-4]),
        ("\u2212-4", [4]),
        ("5-4", [5, 4]),
        ("1,800", [1800]),
        ("1'800", [1800]),
        ("1,80", [1, 80]),
        ("1,8000", [1, 8000]),
        ("1{,}800", [1800]),
        ("12,345,678.5", [Fraction("12345678.5")]),
        (".5", [Fraction(1, 2)]),
        ("0.25", [Fraction(1, 4)]),
        ("1/3", [Fraction(1, 3)]),
        ("2 1/2", [Fraction(5, 2)]),
        ("-2 1/2", [Fraction(-5, 2)]),
        ("1/0", []),
        (r"\frac{1}{2}", [Fraction(1, 2)]),
        (r"\dfrac{3}{4}", [Fraction(3, 4)]),
        ("½", [Fraction(1, 2)]),
        ("2½", [Fraction(5, 2)]),
        ("1.8e3", [1800]),
        ("2E-2", [Fraction(1, 50)]),
        ("3 x 10^2", [300]),
        ("3 x 10²", [300]),
        ("3 x 10 ^ 2", [300]),
        ("3*10**2", [300]),
        ("3 x 10^{2}", [300]),
        ("3 x 10⁻²", [Fraction(3, 100)]),
        ("3 x 100", [3, 100]),
        ("3*105", [3, 105]),
        ("79x100", [79, 100]),
        (r"3\times 10^{-1}", [Fraction(3, 10)]),
        (r"3 \times 10^5", [300_000]),
        (r"3  \cdot 10^{2} m", [300]),
        (r"3 \times 10", [3, 10]),
        ("due on 1/2/2024", []),
        ("24/7/365 or 4", [4]),
        ("2k", [2000]),
        ("2K", [2000]),
        ("2 hundred", [200]),
        ("2 thousand", [2000]),
        ("2 million", [2 * 10**6]),
        ("2 billions", [2 * 10**9]),
        ("2 kilo", [2]),
        ("x4", []),
        ("4th", [4]),
        (r"\$5", [5]),
        ("**7**.", [7]),
        (r"\text{8} cm", [8]),
        ("3\u00a0000", [3000]),
        ("9" * 40, [10**40 - 1]),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, values: list[int | Fraction]) -> None:
    assert [written.value for written in numbers_in(plain(text))] == values


def test_a_number_is_told_with_its_place_and_text() -> None:
    [first, second] = numbers_in("is 4 or $1,800 now")
    assert (first.text, first.start, first.end) == ("4", 3, 4)
    assert (second.text, second.start, second.end) == ("$1,800", 8, 14)
