"""Replies that must be one exact word or phrase: the whole reply counts, because following the asked form is the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.family import Case, Family, Fields, Verdict, gold_of, text_of


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of a question and one answer, or several that are equally right."""
    gold = gold_of(row, fields.answer)
    return Case(
        question=text_of(row, fields.question), gold=[str(g) for g in gold] if isinstance(gold, list) else [str(gold)]
    )


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when the reply is the answer, apart from case, space around it and one final full stop."""
    extracted = reply.strip().removesuffix(".")
    right = float(any(extracted.lower() == gold.strip().lower() for gold in case.gold))
    rule = ""
    if not right:
        held = any(gold.lower() in extracted.lower() for gold in case.gold)
        rule = (
            "The reply holds the answer and other words besides; the others must go."
            if held
            else "The answer is another one."
        )
    return Verdict(score=right, metrics={"accuracy": right}, extracted=extracted, rule=rule)


FAMILY = Family(metric="accuracy", read=read, score=score, gold_reply=lambda case: case.gold[0])
