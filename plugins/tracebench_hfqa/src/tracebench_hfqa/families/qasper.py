"""Qasper (Dasigi et al. 2021): Answer-F1 over SQuAD tokens, the best over annotators, with the type of the answer that was matched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families import text
from tracebench_hfqa.families.answer import readings
from tracebench_hfqa.families.context import paragraphs
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, column, gold_of

UNANSWERABLE = "Unanswerable"
TYPES = ("extractive", "abstractive", "boolean", "none")


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of the converted mirror (`input` is "Q: …\\nText: …"), or one question of the authors' own file."""
    if "answers" in row and fields.answer not in row:
        golds = [_annotation(a.get("answer", a)) for a in gold_of(row, "answers")]
        return Case(question=str(column(row, "question")), context=str(row.get("context", "")), gold=golds)
    raw = gold_of(row, fields.answer)
    answers = [str(a) for a in (raw if isinstance(raw, list | tuple) else [raw]) if str(a).strip()]
    if not answers:
        raise MissingGoldError(f"has no gold answer in column `{fields.answer}`")
    asked, _, passage = str(column(row, fields.question)).partition("\nText:")
    return Case(
        question=asked.strip().removeprefix("Q:").strip(),
        context=passage.strip() or (paragraphs(row, fields) if fields.context else ""),
        gold=[[a, _kind(a)] for a in answers],
    )


def score(reply: str, case: Case) -> Verdict:
    """Score the reply's answer by F1; ties between annotators go to the first."""
    extracted = text.settled(readings(reply), [gold for gold, _ in case.gold])
    f1, gold, kind = max(((text.token_f1(extracted, g), g, k) for g, k in case.gold), key=lambda found: found[0])
    rule = "" if f1 == 1 else text.words(gold=gold, extracted=extracted)
    return Verdict(score=f1, metrics={"f1": f1, f"f1_{kind}": f1}, extracted=extracted, rule=rule)


def _annotation(answer: Mapping[str, Any]) -> list[str]:
    """Return one annotator's answer and its type, in the order in which the authors look."""
    if answer.get("unanswerable"):
        return [UNANSWERABLE, "none"]
    if answer.get("extractive_spans"):
        return [", ".join(answer["extractive_spans"]), "extractive"]
    if answer.get("free_form_answer"):
        return [str(answer["free_form_answer"]), "abstractive"]
    if answer.get("yes_no") is not None:
        return ["Yes" if answer["yes_no"] else "No", "boolean"]
    raise RowError("has an annotation without an answer")


def _kind(answer: str) -> str:
    """Tell the type of an answer that the mirror keeps as text only."""
    if text.normalise(answer) == "unanswerable":
        return "none"
    return "boolean" if text.normalise(answer) in {"yes", "no"} else "extractive"


FAMILY = Family(
    metric="f1",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: str(case.gold[0][0]),
    asks_for='Give only the answer; "Unanswerable" when the text does not say.',
)
