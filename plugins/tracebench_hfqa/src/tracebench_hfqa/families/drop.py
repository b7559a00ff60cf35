"""DROP (Dua et al. 2019), by its drop_eval.py: spans are bags of tokens, aligned one to one; the best annotator counts."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracebench_hfqa.families.alignment import best_alignment
from tracebench_hfqa.families.answer import readings
from tracebench_hfqa.families.context import paragraphs
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, RowError, Verdict, column, text_of
from tracebench_hfqa.families.text import whole_characters

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
MOST_SPANS = 200
"""A reply that lists more spans is read as one."""


class Measure(NamedTuple):
    """Exact match and F1 of a list of spans against one annotator's."""

    em: float
    f1: float


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read the hub's row (`answers_spans`), or a row with the authors' objects (`answer`, `validated_answers`)."""
    if fields.answer not in row and "answer" in row:
        golds = [_spans(a) for a in (row["answer"], *(row.get("validated_answers") or ()))]
    else:
        raw = column(row, fields.answer)
        golds = (
            _annotators(raw)
            if isinstance(raw, Mapping)
            else [[str(a) for a in raw] if isinstance(raw, list) else [str(raw)]]
        )
    golds = [gold for gold in golds if gold and gold[0].strip()]
    if not golds:
        raise MissingGoldError(f"has no gold answer in column `{fields.answer}`")
    return Case(question=text_of(row, fields.question), context=paragraphs(row, fields), gold=golds)


def normalise(text: str) -> str:
    """Normalise token by token, split at spaces and hyphens; numbers become floats and keep their point."""
    parts = (_token(token.lower()) for token in re.split(" |-", text))
    return " ".join(part for part in parts if part)


def measure(predicted: Sequence[str], gold: Sequence[str]) -> Measure:
    """Return the authors' exact match and F1; F1 is rounded to two places, as theirs."""
    one, other = [normalise(p) for p in predicted], [normalise(g) for g in gold]
    em = float(set(one) == set(other) and len(one) == len(other))
    bags = [frozenset(p.split()) for p in one]
    table = [[_bag_f1(bag, wanted) for bag in bags] for wanted in (frozenset(g.split()) for g in other)]
    return Measure(em, round(best_alignment(table) / max(len(one), len(other)), 2))


def lists_of(reply: str) -> list[list[str]]:
    """Return the lists of spans that a reply may mean, by each reading of its answer; those of the last stand first."""
    found = [spans for reading in reversed(readings(reply)) for spans in _lists(reading)]
    return [spans for at, spans in enumerate(found) if spans not in found[:at]]


def score(reply: str, case: Case) -> Verdict:
    """Score by F1, the best over annotators."""
    found = lists_of(reply)
    equal = [spans for spans in found if any(measure(spans, gold).em for gold in case.gold)]
    read_as = equal or _lists(readings(reply)[-1])
    if not any(normalise(span) for spans in found for span in spans):
        return Verdict(score=0.0, metrics={"em": 0.0, "f1": 0.0}, extracted="", rule="The reply holds no answer.")
    pairs = [(measure(spans, gold), spans) for spans in read_as for gold in case.gold]
    em, (best, spans) = max(m.em for m, _ in pairs), max(pairs, key=lambda pair: pair[0].f1)
    return Verdict(
        score=best.f1,
        metrics={"em": em, "f1": best.f1},
        extracted="; ".join(spans),
        rule="" if em else _rule(spans, case),
    )


def _lists(answer: str) -> list[list[str]]:
    """Return a JSON list's items, parts at `;`, `|` or lines, else the whole and its parts at commas."""
    try:
        listed = json.loads(answer)
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, list) and listed:
        found = [[whole_characters(str(item)) for item in listed]]
    elif re.search(r"[;\n|]", answer):
        found = [_parts(answer, r"[;\n|]")]
    else:
        found = [[answer], _parts(answer, r",\s+(?:and\s+)?|(?<!\s)\s+and\s+")]
    return [spans for spans in found if 0 < len(spans) <= MOST_SPANS] or [[answer]]


def _rule(reading: Sequence[str], case: Case) -> str:
    wanted = len(case.gold[0])
    if len(reading) != wanted:
        return f"{wanted} spans are right, separated by `; `; the reply gives {len(reading)}."
    if any(_is_number(g) for g in case.gold[0]):
        return "The number is another one, or stands among other words."
    return "The span is another one, or longer or shorter than the right one."


def _token(token: str) -> str:
    token = token if _is_number(token) else token.translate(PUNCTUATION)
    token = str(float(token)) if _is_number(token) else token
    return " ".join(ARTICLES.sub(" ", token).split())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _bag_f1(predicted: frozenset[str], gold: frozenset[str]) -> float:
    numbers = {word for word in gold if _is_number(word)}
    if numbers and not numbers & predicted:
        return 0.0
    same = len(gold & predicted)
    precision = same / len(predicted) if predicted else 1.0
    recall = same / len(gold) if gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _parts(answer: str, separator: str) -> list[str]:
    return [part.strip() for part in re.split(separator, answer) if part.strip()]


def _spans(answer: Mapping[str, Any]) -> list[str]:
    """Return one annotator's answer as spans."""
    if answer.get("number"):
        return [str(answer["number"])]
    if answer.get("spans"):
        return [str(span) for span in answer["spans"]]
    date = answer.get("date") or {}
    return [" ".join(str(date.get(part, "")) for part in ("day", "month", "year")).strip()]


def _annotators(raw: Mapping[str, Any]) -> list[list[str]]:
    """Split the hub's flat list into annotators: each number or date is one; spans that follow each other are one answer.

    The hub's copy keeps no border between annotators, so neighbouring spans of type `span` are alternatives, of type `spans` one list.
    """
    spans, types = [str(s) for s in raw.get("spans") or ()], list(raw.get("types") or ())
    if len(types) != len(spans):
        raise RowError(f"has {len(spans)} spans and {len(types)} types in its answer")
    listed = [s for s, t in zip(spans, types, strict=True) if t == "spans"]
    return [[s] for s, t in zip(spans, types, strict=True) if t != "spans"] + ([listed] if listed else [])


FAMILY = Family(
    metric="f1",
    read=read,
    score=score,
    version=3,
    gold_reply=lambda case: "; ".join(case.gold[0]),
    asks_for="Give only the answer: a number, a date or the words of the passage; separate several with `; `.",
)
