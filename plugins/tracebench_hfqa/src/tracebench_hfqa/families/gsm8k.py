"""GSM8K (Cobbe et al. 2021): the number after `####`, compared as a number.

The authors compare text after taking out commas; here `12.`, `12.00`, `$12` and `\\boxed{12}` equal 12 as well. A reply that only
lists, asks or repeats numbers states none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tracebench_hfqa.families.answer import RETRACTED, places, put_instead, sentences, spoken
from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, gold_of, text_of
from tracebench_hfqa.families.numbers import Written, numbers_in, plain

HASHES = re.compile(r"####([^\w\n.-]*+)(-?\.?\d.*)?")
BEFORE = re.compile(
    r"^[\W_]*(?:(?:about|approximately|exactly|roughly|only|a total of|equal to|x|it is|it's|usd|eur|rs)\W*)?$", re.I
)
HEDGE = re.compile(r"^[\s%°*_$\")\]}]*+(?:,|;|/|or\b|and\b|to\b|-|\u2013)?\s*+(?:or\b|and\b)?[\s$]*$", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|rather than|instead of|isn't|never)\s+(?:just\s+|only\s+)?[$€£¥₹]?-?[\d.,]*\d", re.IGNORECASE)  # fmt: skip
TURNED_DOWN = re.compile(
    r"[$€£¥₹]?-?\d[\d.,]*+(\s+(?:is|are|was|would be)\s+(?:\w+ly\s+)?(?:not|wrong|incorrect)\b)?", re.IGNORECASE
)
ALONE = re.compile(r"[$€£¥₹~≈\s]*-?[\d.,]*\d[$€£¥₹%.\s]*")
REASON = re.compile(r"[;(]|,?\s(?:because|since|as|so that|which|from|after|who)\s", re.IGNORECASE)
OPERATOR = re.compile(r"^\s*(?:[-+*/x\u00d7÷^=\u2212]|times|plus|minus|divided)\s*[\d($]", re.IGNORECASE)
CONCLUDED = re.compile(
    r"=|\b(?:so|thus|therefore|hence|altogether|equals?|total of|which is|leaves?|leaving|makes?|making|gives?|giving|is|are)\b",
    re.IGNORECASE,
)
NONE, SEVERAL = None, ""


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
    found = list(numbers_in(plain(text)))
    return found[0].value if len(found) == 1 else None


def stated(reply: str) -> str:
    """Return the number that the reply gives as its answer, as written; empty when it states none or several."""
    reply = spoken(reply)
    if hashes := next((m for m in HASHES.finditer(reply) if m[2]), None):  # the authors take the first
        return _of_place(hashes[1] + hashes[2]) or ""
    if (instead := put_instead(reply)) and number(instead) is not None:
        return _of_place(instead) or ""
    for place in places(reply):
        found = _of_place(boxed(place) or place)
        if found is not NONE:
            return found
    return _of_prose(reply)


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when the stated number equals the gold one."""
    extracted = stated(reply)
    right = float(bool(extracted) and number(extracted) == number(case.gold))
    return Verdict(
        score=right, metrics={"accuracy": right}, extracted=extracted, rule="" if right else _rule(reply, extracted)
    )


def _of_place(place: str) -> str | None:
    """Return the number of a marked place: one that opens it, else the only one of its sentence; `NONE` when it holds none."""
    first, *rest = _said(place) or [""]
    found = list(numbers_in(first))
    if not found:
        return NONE
    if BEFORE.match(first[: found[0].start]) and not OPERATOR.match(first[found[0].end :]):
        return SEVERAL if _competes(first, found) else found[0].text
    if any(True for sentence in rest for _ in numbers_in(sentence)):
        return _of_prose("\n".join([first, *rest]))
    clause = REASON.split(first)[0]
    return _result(clause) or _result(first)


def _competes(text: str, found: Sequence[Written]) -> bool:
    """Tell whether a second number stands beside the first as an alternative to it."""
    return (
        len(found) > 1
        and found[1].value != found[0].value
        and HEDGE.match(text[found[0].end : found[1].start]) is not None
    )


def _of_prose(reply: str) -> str:
    """Return the number of an unmarked reply: the one that its last sentence with any concludes with."""
    said = _said(reply)
    if len(said) > 1 and ALONE.fullmatch(said[0]) and not RETRACTED.search(" ".join(said[1:])) and _is_told(said[1]):
        return _result(said[0])
    if said and said[-1].rstrip(" *_").endswith("?"):
        return SEVERAL
    for sentence in reversed(said):
        if any(True for _ in numbers_in(sentence)):
            return _result(sentence)
    return SEVERAL


def _said(text: str) -> list[str]:
    """Return the sentences of a text without the numbers that it turns down."""
    said = DENIED.sub(" ", plain(bare(text)))
    return sentences(TURNED_DOWN.sub(lambda number: " " if number[1] else number[0], said))


def _is_told(sentence: str) -> bool:
    return len(re.findall(r"[^\W\d_]{2,}", sentence)) > 2  # noqa: PLR2004 - words, not a further number


def _result(sentence: str) -> str:
    """Return the one number of a sentence; with several, the one after its last word that concludes."""
    if only := _only(sentence):
        return only
    last = max((written.start for written in numbers_in(sentence)), default=0)
    ends = [mark.end() for mark in CONCLUDED.finditer(sentence) if mark.end() <= last]
    return _only(sentence[ends[-1] :]) if ends else SEVERAL


def _only(text: str) -> str:
    found = {written.value: written.text for written in numbers_in(text)}
    return next(iter(found.values())) if len(found) == 1 else SEVERAL


def _rule(reply: str, extracted: str) -> str:
    if extracted:
        return "The number is another one."
    if not any(True for _ in numbers_in(plain(reply))):
        return "The reply holds no number."
    return "The reply states no single number as its answer: end with `#### ` and the number."


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    version=5,
    gold_reply=lambda case: str(case.gold),
    asks_for="End with `#### ` and the number.",
)
