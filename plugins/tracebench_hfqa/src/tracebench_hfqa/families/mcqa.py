"""Multiple choice by label: ARC (Clark et al. 2018), QASC (Khot et al. 2020), QuALITY (Pang et al. 2022), AQuA-RAT (Ling et al. 2017).

A reply counts when it names exactly one option, by its label (letters or numbers) or by its whole text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_hfqa.families.choice import chosen
from tracebench_hfqa.families.context import paragraphs
from tracebench_hfqa.families.family import (
    Case,
    Family,
    Fields,
    MissingGoldError,
    Option,
    RowError,
    Verdict,
    column,
    gold_of,
    text_of,
)
from tracebench_hfqa.families.text import normalise

PREFIXED = re.compile(r"^\(?([A-Z])[).:]\s*(.*)$", re.DOTALL)


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row; the gold is a label, an option's text, or an index counted from `answer_index_base`."""
    options = _options(column(row, fields.options or "options"))
    if not options:
        raise RowError(f"has no options in column `{fields.options or 'options'}`")
    return Case(
        question=text_of(row, fields.question),
        gold=_gold(gold_of(row, fields.answer), options, fields),
        context=paragraphs(row, fields),
        options=options,
    )


def score(reply: str, case: Case) -> Verdict:
    """Score 1 or 0."""
    label = chosen(reply, case.options)
    right = float(bool(label) and label == case.gold)
    rule = (
        ""
        if right
        else (
            "The option is another one."
            if label
            else "The reply names no single option: end with `Answer: ` and a label."
        )
    )
    return Verdict(score=right, metrics={"accuracy": right}, extracted=label, rule=rule)


def _options(raw: Any) -> tuple[Option, ...]:
    """Read the hub's `{text, label}`, lists of `{label, text}`, and lists of texts, with or without `A)` before them."""
    if isinstance(raw, Mapping):
        texts = [str(t) for t in raw.get("text") or raw.get("texts") or raw.get("options") or ()]
        labels = [str(x) for x in raw.get("label") or raw.get("labels") or ()] or [
            chr(65 + i) for i in range(len(texts))
        ]
        if len(texts) != len(labels):
            raise RowError(f"has {len(texts)} option texts and {len(labels)} labels")
        return tuple(Option(label, text) for label, text in zip(labels, texts, strict=True))
    if isinstance(raw, list | tuple) and raw and isinstance(raw[0], Mapping):
        return tuple(
            Option(str(o.get("label", chr(65 + i))), str(o.get("text", o.get("choice", "")))) for i, o in enumerate(raw)
        )
    if not isinstance(raw, list | tuple):
        return ()
    split = [PREFIXED.match(str(text)) for text in raw]
    if raw and all(m and m[1] == chr(65 + i) for i, m in enumerate(split)):
        return tuple(Option(m[1], m[2]) for m in split if m)
    return tuple(Option(chr(65 + i), str(text).strip()) for i, text in enumerate(raw))


def _gold(raw: Any, options: Sequence[Option], fields: Fields) -> str:
    if isinstance(raw, int) and not isinstance(raw, bool):
        index = raw - (fields.answer_index_base or 0)
        if 0 <= index < len(options):
            return options[index].label
        raise RowError(f"answers {raw} in column `{fields.answer}`, which is none of its {len(options)} options")
    answer = str(raw).strip()
    for label, text in options:
        if answer == label or normalise(answer) == normalise(text):
            return label
    raise MissingGoldError(f"answers `{answer[:40]}` in column `{fields.answer}`, which is none of its options")


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    version=6,
    gold_reply=lambda case: str(case.gold),
    asks_for="End with `Answer: ` and the label of one option.",
)
