"""Questions for very small models, each row scored as its column `scored` says: `f1`, `word` or `list`.

`f1` takes the answer's token F1 as HotpotQA does; `word` wants the whole reply to be the answer; `list` wants a numbered list of as many
items as the row's answer has, whatever they are: following the form is the task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families import hfqa, words
from tracebench_hfqa.families.family import Case, Family, Fields, RowError, Verdict, column, gold_of, text_of

WAYS = ("f1", "word", "list")
ITEM = re.compile(r"^\s*(\d{1,9})[.)]\s+\S")


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of a question, one answer or several that are equally right, and how a reply is scored."""
    scored = column(row, "scored")
    if scored not in WAYS:
        raise RowError(f"holds `{scored}` in column `scored`, which is none of {', '.join(f'`{way}`' for way in WAYS)}")
    gold = gold_of(row, fields.answer)
    answers = [str(g) for g in gold] if isinstance(gold, list) else [str(gold)]
    return Case(question=text_of(row, fields.question), gold=answers, extra={"scored": scored})


def score(reply: str, case: Case) -> Verdict:
    """Score a reply as its row says."""
    if case.extra["scored"] == "list":
        return _as_list(reply, case)
    verdict = words.score(reply, case) if case.extra["scored"] == "word" else hfqa.score(reply, case)
    return Verdict(verdict.score, {"score": verdict.score}, verdict.extracted, verdict.rule)


def _as_list(reply: str, case: Case) -> Verdict:
    """Score 1 for a reply that is nothing but a numbered list, from 1, of as many items as the answer has."""
    wanted = len(case.gold[0].splitlines())
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    numbers = [int(found[1]) if (found := ITEM.match(line)) else 0 for line in lines]
    right = float(numbers == [*range(1, wanted + 1)])
    rule = "" if right else f"The reply must be a numbered list of {wanted} items, one a line, and nothing else."
    return Verdict(right, {"score": right}, "\n".join(lines), rule)


FAMILY = Family(metric="score", read=read, score=score, gold_reply=lambda case: case.gold[0])
