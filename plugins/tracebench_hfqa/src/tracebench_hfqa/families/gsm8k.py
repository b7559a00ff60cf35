"""GSM8K (Cobbe et al. 2021): the number after `####`, compared as a number.

The authors compare text after taking out commas; here `12.`, `12.00`, `$12` and `\\boxed{12}` equal 12 as well. A reply that only
lists, asks or repeats numbers states none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tracebench_hfqa.families.answer import after_marker, bare, boxed
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, gold_of, text_of

SIGN = "-\u2212"
"""The hyphen and the typographic minus."""
NUMBER = re.compile(
    rf"(?<![\w.])[+{SIGN}]?[ \t]?[$€£]?[ \t]?[{SIGN}]?(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,40}})(?:\.\d{{1,40}})?(?:/\d{{1,40}})?(?![\d/])"
    rf"|(?<![\w.])[{SIGN}]?\.\d{{1,40}}"
)
HASHES = re.compile(r"####[ \t]*(.*)")
HEDGE = re.compile(r"^[\s%°]*(?:,|;|/|or\b|and\b|to\b|-|\u2013)?\s*(?:or\b|and\b)?\s*$", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WHITE = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " "})


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row; the gold number stands after `####`, or is the whole answer."""
    raw = str(gold_of(row, fields.answer))
    gold = raw.rsplit("####", 1)[-1].strip()
    if not gold:
        raise MissingGoldError(f"has nothing after `####` in column `{fields.answer}`")
    if number(gold) is None:
        raise RowError(f"holds no number after `####` in column `{fields.answer}`, but `{gold[:40]}`")
    return Case(question=text_of(row, fields.question), gold=gold)


def number(text: str) -> Fraction | None:
    """Return the value of a text that is one number with, at most, a currency or a unit; None for anything else."""
    found = list(NUMBER.finditer(text))
    return _value(found[0].group()) if len(found) == 1 else None


def stated(reply: str) -> str:
    """Return the number that the reply gives as its answer, as written; empty when it states none or several."""
    reply = reply.translate(WHITE)
    if hashes := HASHES.search(reply):  # the authors take the first
        return _leading(bare(hashes[1]))
    marked = after_marker(reply)
    for place in (boxed(reply) if marked is None else boxed(marked), marked):
        if place is not None:
            return _leading(bare(place))
    sentences = [s for s in SENTENCE.split(bare(reply)) if s.strip()]
    return _only(sentences[-1]) if sentences and not sentences[-1].rstrip().endswith("?") else ""


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when the stated number equals the gold one."""
    extracted = stated(reply)
    value = _value(extracted) if extracted else None
    right = float(value is not None and value == number(case.gold))
    return Verdict(
        score=right, metrics={"accuracy": right}, extracted=extracted, rule="" if right else _rule(reply, extracted)
    )


def _leading(text: str) -> str:
    """Return the number that a marked answer gives: the result of its last equation, else its first, unless others compete."""
    text = text.rsplit("=", 1)[-1]
    found = list(NUMBER.finditer(text))
    if not found:
        return ""
    first = found[0]
    if (
        len(found) > 1
        and HEDGE.match(text[first.end() : found[1].start()])
        and _value(found[1].group()) != _value(first.group())
    ):
        return ""
    return first.group()


def _only(sentence: str) -> str:
    """Return the one number of an unmarked sentence; with an equation in it, the result of the last."""
    found = {_value(m.group()): m.group() for m in NUMBER.finditer(sentence.rsplit("=", 1)[-1])}
    return next(iter(found.values())) if len(found) == 1 else ""


def _value(written: str) -> Fraction | None:
    """Return a written number's value; None when it divides by zero."""
    plain = re.sub(r"[$€£,\s+]", "", written).replace(SIGN[-1], "-")
    try:
        return Fraction(plain) if "/" not in plain else Fraction(plain.split("/")[0]) / Fraction(plain.split("/")[1])
    except (ValueError, ZeroDivisionError):
        return None


def _rule(reply: str, extracted: str) -> str:
    if extracted:
        return "The number is another one."
    if not NUMBER.search(reply):
        return "The reply holds no number."
    return "The reply states no single number as its answer: end with `#### ` and the number."


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    gold_reply=lambda case: str(case.gold),
    asks_for="End with `#### ` and the number.",
)
