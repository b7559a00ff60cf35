"""SimpleQA (Wei et al. 2024, arXiv 2411.04368): short facts, each answer graded by a model as correct, incorrect or not attempted.

An answer that is the gold one after normalisation is correct without asking. The grader's words are our own, for the rules of the authors'
(github.com/openai/simple-evals, simpleqa_eval.py); no examples are shown to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.answer import readings
from tracebench_hfqa.families.family import Case, Family, Fields, Verdict, gold_of, text_of
from tracebench_hfqa.families.text import normalise

PROMPT = """You grade the answer to a question of fact.

Question: {question}
Reference answer: {gold}
Answer to grade: {answer}

Grade it
A: CORRECT, when it says all that the question asks for as the reference has it, and nothing that contradicts it. Case, spelling, order of
words, doubt and further true words do not matter, nor does a slip in a name that is plainly the same. The reference may hold more than the
question asks for, or what the question says already: that may be missing.
B: INCORRECT, when anything that it says contradicts the reference, also when it is said with doubt or beside the right answer.
C: NOT ATTEMPTED, when what the question asks for is missing, wholly or in part, and nothing contradicts the reference.

A number is right when it is the reference to the reference's last significant figure (for 120k, 124k is right and 113k is not). "About" or
"more than" another number is not attempted.

Reply with one letter, A, B or C, and nothing else."""
LETTER = re.compile(r"^\W*([ABC])(?:\W*$|\s*[:.)\n])|\b(?:grade|answer)\W{1,4}(?:is\W{1,4})?([ABC])\b", re.IGNORECASE)
WORD = re.compile(r"\b(not[ _]attempted|incorrect|correct)\b", re.IGNORECASE)
GRADES = {"A": "correct", "B": "incorrect", "C": "not_attempted"}
RULES = {
    "incorrect": "The answer contradicts the right one.",
    "not_attempted": "The answer does not say what was asked.",
}


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of a problem and its answer."""
    return Case(question=text_of(row, fields.question), gold=str(gold_of(row, fields.answer)))


def score(reply: str, case: Case) -> Verdict:
    """Score what needs no grader: the gold answer itself, and nothing at all."""
    gold = normalise(str(case.gold))
    found = readings(reply)
    if gold and any(normalise(text) == gold for text in found):
        return graded("correct", found[-1])
    return graded("not_attempted", found[-1] if found else "")


def graded(grade: str, answer: str) -> Verdict:
    """Return the verdict of a grade; `attempted` is 0 for what was not."""
    right = float(grade == "correct")
    metrics = {"correct": right, "attempted": float(grade != "not_attempted")}
    return Verdict(score=right, metrics=metrics, extracted=answer, rule=RULES.get(grade, ""))


def ask(reply: str, case: Case) -> str:
    """Return what the grader is asked of a reply; nothing where there is nothing to ask."""
    if not reply.strip() or score(reply, case).score == 1:
        return ""
    return PROMPT.format(question=case.question, gold=case.gold, answer=reply.strip())


def hear(said: str, reply: str) -> Verdict | None:
    """Return the verdict that the grader's words are; None when they are none."""
    if found := LETTER.search(said):
        return graded(GRADES[(found[1] or found[2]).upper()], reply.strip())
    words = {found.lower().replace(" ", "_") for found in WORD.findall(said)}
    return graded(words.pop(), reply.strip()) if len(words) == 1 else None


FAMILY = Family(
    metric="correct",
    read=read,
    score=score,
    gold_reply=lambda case: str(case.gold),
    asks_for="Give only the answer, or say that you do not know.",
    grader=(ask, hear),
    version=2,
)
