"""MATH (Hendrycks et al. 2021) and MATH-500 (Lightman et al. 2023): an expression, compared as such.

The authors compare the last `\\boxed{}` with the gold one as text after taking out what only spells it otherwise; here what is written
after "Answer:" and the like is read as well, and what differs as text is compared by math-verify, as mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tracebench_core.specs import Requirement
from tracebench_hfqa.families.answer import CORRECTED, RETRACTED, marked, readings, sentences, spoken
from tracebench_hfqa.families.decoration import bare, boxed
from tracebench_hfqa.families.family import Case, Family, Fields, MissingGoldError, Verdict, gold_of, text_of
from tracebench_hfqa.families.symbolic import HINT, equal

SPACES = re.compile(r"\\[!,;:> ]|\\(?:quad|qquad)\b|~|\s+")
SIZES = re.compile(r"\\(?:left|right|big|Big|bigg|Bigg)(?![a-zA-Z])")
FRACTIONS = re.compile(r"\\[dt]frac")
SHORT_FRACTION = re.compile(r"\\frac(\d)(\d)")
TEXT = re.compile(r"\\(?:text|mathrm|mbox|textbf|mathbf)\{([^{}]*)\}")
UNIT = re.compile(r"(?<=[\d}])\s*\\(?:text|mathrm|mbox)\{[^{}]*\}(?:\^\{?\d\}?)?$")
DEGREES = re.compile(r"\^\{?\\circ\}?|\\degree")
INLINE = re.compile(r"(?:\b(?:is|are|equals?|gives?|gets?|obtain|have)|=|:)\s*\$([^$]+)\$[\s.*]*$")
"""The expression with which a sentence ends."""
COMMAND = re.compile(r"\\[a-zA-Z]+")
PROSE = re.compile(r"[a-zA-Z]{2,}")
"""Words, such as `or`: what has them is no single expression."""


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    r"""Read a row; the gold is its answer, or what the solution in that column boxes."""
    raw = str(gold_of(row, fields.answer))
    gold = boxed(raw) if "\\boxed" in raw else raw
    if gold is None or not gold.strip():
        raise MissingGoldError(f"boxes no answer in column `{fields.answer}`")
    return Case(question=text_of(row, fields.question), gold=gold.strip())


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when the reply's one answer is the gold expression."""
    gold = str(case.gold)
    found = list(dict.fromkeys(said(reply)))
    extracted = next((text for text in found if plain(text) == plain(gold)), found[-1] if found else "")
    right = float(is_same(gold, extracted))
    rule = ""
    if not right:
        rule = (
            "The answer is another one, or no single one."
            if extracted
            else r"The reply states no answer: end with `\boxed{}`."
        )
    return Verdict(score=right, metrics={"accuracy": right}, extracted=extracted, rule=rule)


def said(reply: str) -> Iterator[str]:
    """Yield the ways to read the one answer of a reply: of its last box, else of its marked place, else of all of it."""
    reply = spoken(reply)
    corrected = reply[max((mark.end() for mark in CORRECTED.finditer(reply)), default=0) :]
    if boxed(corrected) is not None or marked(corrected):
        reply = corrected
    box = boxed(reply)
    if box is not None and box.strip():
        yield from (box, bare(box))
        return
    found = marked(reply) or readings(reply)
    yield from found
    if (inline := INLINE.search(found[-1])) is not None:
        yield inline[1]
        return
    first, *rest = sentences(found[-1]) or [""]
    if rest and first.startswith(("[", "{", "(")) and not RETRACTED.search(" ".join(rest)):
        yield bare(first)  # an interval, a set or a point, and not a list that goes on


def is_same(gold: str, answer: str) -> bool:
    """Tell whether an answer is the gold one: as text without its spelling, else as mathematics."""
    one, other = plain(gold), plain(answer)
    if one == other:
        return bool(one)
    answer = UNIT.sub("", bare(answer).strip("$ *"))
    if not other or len(other) > 4 * len(one) + 40 or PROSE.search(COMMAND.sub(" ", answer)):
        return False
    return not re.fullmatch(r"[A-Za-z]{2,}", one) and equal(one, other)


def plain(text: str) -> str:
    """Return an expression without what only spells it otherwise: spaces, sizes, dollars, units, words as text."""
    text = bare(bare(text).strip("$ *"))
    text = text.replace("\\$", "").replace("\\%", "").replace("%", "").replace("{,}", "").rstrip(".")
    text = DEGREES.sub("", SIZES.sub("", text))
    text = UNIT.sub("", text.strip())
    text = TEXT.sub(r"\1", text)
    text = SHORT_FRACTION.sub(r"\\frac{\1}{\2}", FRACTIONS.sub(r"\\frac", text))
    text = SPACES.sub("", text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?:\D|$))", "", text)
    text = re.sub(r"^\.(?=\d)", "0.", text)
    return re.sub(r"(?<=\d)\.0+$", "", text)


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    gold_reply=lambda case: rf"\boxed{{{case.gold}}}",
    asks_for=r"End with the answer in `\boxed{}`.",
    requires=(Requirement(kind="module", name="math_verify", hint=HINT),),
)
