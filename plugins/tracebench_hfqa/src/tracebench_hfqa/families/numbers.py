"""Reading numbers as people and models write them: `$1,800`, `1{,}800`, `\\frac{1}{2}`, `1.8e3`, `-4`, `2 million`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

MINUS = "\u2212"
CURRENCY = "$€£¥₹₩₽¢"
_SIGN = rf"(?:-(?=[{CURRENCY}]?[ \t]?[\d.])|{MINUS}[ \t]?|\+[ \t]?)?"
_WHOLE = r"(?:\d{1,3}(?:[,\u2009]\d{3})+(?!\d)|\d{1,3}(?:'\d{3})+(?![\d'])|\d{1,40})"
_TENS = r"(?:[ \t]?(?:\^|\*\*)[ \t]?\{?(?P<tens>[-+]?\d{1,2})\}?|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))"
"""An exponent is marked as one: 3 x 100 is no power of ten."""
NUMBER = re.compile(
    rf"(?<![\w.])(?<!\d/)(?P<sign>{_SIGN})[{CURRENCY}]?[ \t]?(?P<inner>[-{MINUS}]?)"
    rf"(?:(?P<mixed>\d{{1,9}})[ \t]+(?=\d{{1,9}}/\d))?"
    rf"(?P<whole>{_WHOLE}(?:\.\d{{1,40}})?|\.\d{{1,40}})"
    r"(?:[ \t]?/[ \t]?(?P<below>\d{1,40})(?!\d|/[ \t]?\d))?"
    rf"(?:[eE](?P<power>[+-]?\d{{1,2}})(?!\w)|[ \t]?[x\u00d7*][ \t]?10{_TENS}(?!\w))?"
    r"(?:(?P<kilo>[kK])(?!\w)|[ \t]?(?P<word>hundred|thousand|million|billion)s?\b)?(?!\d|/[ \t]?\d)",
    re.IGNORECASE,
)
SCALE = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
PLAIN = (
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|mathit|operatorname)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"(?<!\s)\s*\\(?:times|cdot)\s*10\s*\^\s*\{?([-+]?\d+)\}?"), r" x 10^\1"),
    (re.compile(r"\\(?:times|cdot)"), " x "),
    (re.compile(r"(?<=\d)[xX](?=\d)"), " x "),
    (re.compile(r"\\(?:left|right|,(?!\d{3})|;|:|!|quad| )"), " "),
    (re.compile(r"(?<=\d)(?:\{,\}|\\,)(?=\d{3})"), ","),
    (re.compile(r"\\([$%#&_])"), r"\1"),
    (re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))"), "\u2009"),
    (re.compile(r"[\u00a0\u202f\u2007]"), " "),
    (re.compile(r"\\(?:approx|sim|rightarrow|Rightarrow|therefore)"), " "),
    (re.compile(r"(?<=\d)½"), " 1/2"),
    (re.compile(r"½"), "1/2"),
    (re.compile(r"(?<=\d)[*_`]+(?=[\s.,;:!?)]|$)|(?:(?<=\s)|^)[*_`]+(?=[$€£¥₹\d-])"), ""),
)


class Written(NamedTuple):
    """A number in a text."""

    text: str
    value: Fraction
    start: int
    end: int


def plain(text: str) -> str:
    """Return a text with LaTeX, typographic spaces and emphasis around numbers taken out."""
    for pattern, by in PLAIN:
        text = pattern.sub(by, text)
    return text


def numbers_in(text: str) -> Iterator[Written]:
    """Yield the numbers of a plain text in order; one that divides by zero is none."""
    for found in NUMBER.finditer(text):
        value = _value(found)
        if value is not None:
            yield Written(found.group().strip(), value, found.start(), found.end())


def _value(found: re.Match[str]) -> Fraction | None:
    value = Fraction(re.sub(r"[,'\u2009]", "", found["whole"]))
    if found["below"]:
        if int(found["below"]) == 0:
            return None
        value /= int(found["below"])
    value += int(found["mixed"] or 0)
    if power := found["power"] or found["tens"] or (found["raised"] or "").translate(RAISED):
        value *= Fraction(10) ** int(power)
    value *= 1_000 if found["kilo"] else SCALE.get((found["word"] or "").lower(), 1)
    minus = (found["sign"] + found["inner"]).count("-") + (found["sign"] + found["inner"]).count(MINUS)
    return -value if minus % 2 else value
