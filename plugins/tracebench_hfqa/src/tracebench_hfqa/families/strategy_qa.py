"""StrategyQA (Geva et al. 2021): yes or no, said once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.answer import places, sentences, spoken
from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, column, text_of

SAID = re.compile(r"(?<![\w'-])(yes|no|true|false)(?![\w'-])", re.IGNORECASE)
LEADING = re.compile(
    r"^[\s*_\"'`(]*(yes|no|true|false)(?=$|[\s]*[.,;:!*_\"'`)\n—\u2013]|\s+(?:because|since|as)\b)", re.IGNORECASE
)
CLOSING = re.compile(
    r"(?:^|[.:;!?—\u2013]|\bis|\banswer|(?<![\s*_\"'`(])(?=[\s*_\"'`(]*\n))[\s*_\"'`(]*(yes|no|true|false)[\s.!*_\"'`)]*$",
    re.IGNORECASE,
)
LAST = re.compile(r"(?<![\w'-])(yes|no|true|false)[\s.!*_\"'`)]*$", re.IGNORECASE)
DENIED = re.compile(
    r"(?:,\s*)?(?:\b(?:not|never|cannot|rather than|instead of)|n['\u2019]t)\s+(?:(?:say|be|simply|just|really)\s+){0,2}"
    r"[\"'“\u2018*]*(?:yes|no|true|false)\b[\"'”\u2019*]*",
    re.IGNORECASE,
)
NOT_SO = re.compile(r"(?:\bnot|n['\u2019]t)\s+(true|false)\b", re.IGNORECASE)
TRUE = frozenset({"yes", "true"})
WORDS = {"yes": True, "true": True, "no": False, "false": False}


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row; the answer is a boolean, or the word for one."""
    raw = column(row, fields.answer)
    if raw is None or raw == "":
        raise MissingGoldError(f"has no gold answer in column `{fields.answer}`")
    gold = WORDS.get(str(raw).strip().lower())
    if gold is None:
        raise RowError(f"holds neither true nor false in column `{fields.answer}`")
    return Case(question=text_of(row, fields.question), gold=gold)


def said(reply: str) -> str:
    """Return `yes` or `no` when the reply says one of them and does not take it back; empty otherwise."""
    reply = spoken(reply)
    for place in places(reply):
        text = _settled(bare(boxed(place) or place))
        first = (sentences(text) or [""])[0]
        if leading := LEADING.search(first):
            return _one({leading[1].lower() in TRUE}) if not _lists(first) else ""
        if found := _words(first):
            return _one(found)
    text = _settled(reply.strip())
    found = {m[1].lower() in TRUE for m in (LEADING.search(text), CLOSING.search(text)) if m}
    if found and (last := LAST.search(text)):
        found.add(last[1].lower() in TRUE)
    if found:
        return _one(found) if not _lists(text) else ""
    for sentence in reversed(sentences(text)):
        if not sentence.endswith("?") and (found := _words(sentence)):
            return _one(found)
    return ""


def score(reply: str, case: Case) -> Verdict:
    """Score 1 or 0."""
    extracted = said(reply)
    right = float(bool(extracted) and (extracted == "yes") == case.gold)
    rule = (
        ""
        if right
        else ("The answer is the other one." if extracted else "The reply says neither yes nor no, or both.")
    )
    return Verdict(score=right, metrics={"accuracy": right}, extracted=extracted, rule=rule)


def _settled(text: str) -> str:
    """Return a text in which "not true" is false, and what is only denied is not said."""
    text = NOT_SO.sub(lambda m: "false" if m[1].lower() == "true" else "true", text)
    return DENIED.sub(" ", text)


def _words(sentence: str) -> set[bool]:
    return {m[1].lower() in TRUE for m in SAID.finditer(sentence)}


def _lists(text: str) -> bool:
    """Tell whether nothing but both words is said, as in "yes, no"."""
    return len(_words(text)) > 1 and not re.search(r"[^\W\d_]{4,}", SAID.sub("", text))


def _one(found: set[bool]) -> str:
    return ("yes" if found == {True} else "no") if len(found) == 1 else ""


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: "yes" if case.gold else "no",
    asks_for="Say yes or no.",
)
