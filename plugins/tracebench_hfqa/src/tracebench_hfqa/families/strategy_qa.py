"""StrategyQA (Geva et al. 2021): yes or no, said once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.answer import after_marker, bare, boxed
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, column, text_of

SAID = re.compile(r"(?<![\w'-])(yes|no|true|false)(?![\w'-])", re.IGNORECASE)
LEADING = re.compile(r"^[\s*_\"'`(]*(yes|no|true|false)(?=$|[\s]*[.,;:!*_\"'`)\n—\u2013])", re.IGNORECASE)
CLOSING = re.compile(
    r"(?:^|[.:;!?\n—\u2013]|\bis|\banswer)[\s*_\"'`(]*(yes|no|true|false)[\s.!*_\"'`)]*$", re.IGNORECASE
)
LAST = re.compile(r"(?<![\w'-])(yes|no|true|false)[\s.!*_\"'`)]*$", re.IGNORECASE)
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
    marked = boxed(reply) or after_marker(reply)
    if marked is not None:
        return _one({m[1].lower() in TRUE for m in SAID.finditer(bare(marked))})
    text = reply.strip()
    found = {m[1].lower() in TRUE for m in (LEADING.search(text), CLOSING.search(text)) if m}
    if found and (last := LAST.search(text)):
        found.add(last[1].lower() in TRUE)
    if found:
        return _one(found) if not _lists(text) else ""
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+", text) if s.strip()]
    return _one({m[1].lower() in TRUE for m in SAID.finditer(sentences[-1])}) if sentences else ""


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


def _lists(text: str) -> bool:
    """Tell whether nothing but both words is said, as in "yes, no"."""
    return len({w.lower() in TRUE for w in SAID.findall(text)}) > 1 and not re.search(
        r"[^\W\d_]{4,}", SAID.sub("", text)
    )


def _one(found: set[bool]) -> str:
    return ("yes" if found == {True} else "no") if len(found) == 1 else ""


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    gold_reply=lambda case: "yes" if case.gold else "no",
    asks_for="Say yes or no.",
)
