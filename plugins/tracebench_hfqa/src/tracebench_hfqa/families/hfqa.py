"""Short answers from paragraphs, as HotpotQA scores them (Yang et al. 2018, hotpot_evaluate_v1.py): exact match and token F1.

The one departure from SQuAD: where either side is `yes`, `no` or `noanswer`, only equality counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families import text
from tracebench_hfqa.families.answer import readings
from tracebench_hfqa.families.context import paragraphs
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, Verdict, gold_of, text_of

CLOSED = frozenset({"yes", "no", "noanswer"})


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row with a question, a short answer (or SQuAD's mapping of texts) and maybe a context."""
    answers = gold_of(row, fields.answer)
    if isinstance(answers, Mapping):
        answers = answers.get("text") or []
    if not isinstance(answers, list | tuple):
        answers = [answers]
    golds = [str(a) for a in answers if str(a).strip()]
    if not golds:
        raise MissingGoldError(f"has no gold answer in column `{fields.answer}`")
    support = row.get("supporting_facts")
    titles = support.get("title", ()) if isinstance(support, Mapping) else ()
    return Case(
        question=text_of(row, fields.question),
        gold=golds,
        context=paragraphs(row, fields),
        support=tuple(dict.fromkeys(str(t) for t in titles)),
    )


def measure(extracted: str, gold: str) -> tuple[float, float]:
    """Return exact match and F1 of one answer against one gold answer."""
    one, other = text.normalise(extracted), text.normalise(gold)
    if one != other and CLOSED & {one, other}:
        return 0.0, 0.0
    return text.exact(extracted, gold), text.token_f1(extracted, gold)


def score(reply: str, case: Case) -> Verdict:
    """Score the reply's answer by F1, the best over the gold answers."""
    extracted = text.settled(readings(reply), case.gold)
    pairs = [measure(extracted, gold) for gold in case.gold]
    em, f1 = max(em for em, _ in pairs), max(f1 for _, f1 in pairs)
    rule = "" if em else text.words(gold=case.gold[0], extracted=extracted)
    return Verdict(score=f1, metrics={"em": em, "f1": f1}, extracted=extracted, rule=rule)


FAMILY = Family(
    metric="f1",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: str(case.gold[0]),
    asks_for="Give only the answer: a name, a date, a number, a short phrase, yes or no.",
)
