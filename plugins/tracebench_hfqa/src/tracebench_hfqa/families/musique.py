"""MuSiQue (Trivedi et al. 2022): SQuAD's exact match and F1, the best over the answer and its aliases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families import text
from tracebench_hfqa.families.answer import readings
from tracebench_hfqa.families.context import paragraphs
from tracebench_hfqa.families.family import Case, Family, Fields, Verdict, gold_of, text_of


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row; the paragraphs marked as supporting are kept for the feedback."""
    golds = [str(gold_of(row, fields.answer)), *(str(a) for a in row.get("answer_aliases") or () if str(a).strip())]
    blocks = row.get(fields.context or "paragraphs") or ()
    return Case(
        question=text_of(row, fields.question),
        gold=list(dict.fromkeys(golds)),
        context=paragraphs(row, fields),
        support=tuple(dict.fromkeys(str(p["title"]) for p in blocks if p.get("is_supporting"))),
    )


def score(reply: str, case: Case) -> Verdict:
    """Score the reply's answer by F1."""
    extracted = text.settled(readings(reply), case.gold)
    em = max(text.exact(extracted, gold) for gold in case.gold)
    f1 = max(text.token_f1(extracted, gold) for gold in case.gold)
    rule = "" if em else text.words(gold=case.gold[0], extracted=extracted)
    return Verdict(score=f1, metrics={"em": em, "f1": f1}, extracted=extracted, rule=rule)


FAMILY = Family(
    metric="f1",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: str(case.gold[0]),
    asks_for="Give only the answer: a name, a date, a number or a short phrase.",
)
