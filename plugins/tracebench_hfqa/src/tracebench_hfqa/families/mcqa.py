"""Multiple choice by label: ARC (Clark et al. 2018), QASC (Khot et al. 2020), QuALITY (Pang et al. 2022), AQuA-RAT (Ling et al. 2017).

A reply counts when it names exactly one option, by its label (letters or numbers) or by its whole text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_hfqa.families.answer import after_marker, bare, boxed
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
SHORT = 80
"""Longest unmarked last line, in characters, in which a bare letter is a label."""


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


def chosen(reply: str, options: Sequence[Option]) -> str:
    """Return the label of the one option that a reply names; empty when it names none or several."""
    marked = after_marker(reply)
    answer = bare((boxed(reply) if marked is None else boxed(marked)) or (reply if marked is None else marked))
    if (whole := _whole(answer, options)) or marked is not None:
        return whole or _one(_labels(answer, options, bold=True))
    if len(named := _labels(answer, options, bold=False)) > 1:
        return ""
    lines = [line for line in answer.splitlines() if line.strip()]
    last = bare(lines[-1]) if lines else ""
    return _whole(last, options) or _one(_labels(last, options, bold=len(last) <= SHORT)) or _one(named)


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


def _whole(answer: str, options: Sequence[Option]) -> str:
    """Read an answer that is nothing but a label, a label with its text, or a text."""
    for label, _ in options:
        forms = {f"{label}", f"({label})", f"{label})", f"[{label}]", f"{label}:"}
        if answer.upper() in {f.upper() for f in forms}:
            return label
    plain = normalise(answer)
    same = [o.label for o in options if plain and plain in {normalise(o.text), normalise(f"{o.label} {o.text}")}]
    return _one(same)


def _labels(text: str, options: Sequence[Option], *, bold: bool) -> list[str]:
    """Return the labels that a text names: `(B)`, a leading `B.`, and (`bold`) a letter standing alone that is no word."""
    found: dict[str, None] = {}
    for label, _ in options:
        exact = re.escape(label)
        forms = [rf"\({exact}\)", rf"^\s*{exact}[).:](?!\d)"]
        if bold:
            word = label in {"A", "I"} or label.isdigit()
            forms.append(
                rf"(?<![\w'.(-]){exact}(?=[.,;:!)*/]|$|\s+(?:or|and|nor)\b)(?!\.\d)"
                if word
                else rf"(?<![\w'.(-]){exact}(?![\w'-])"
            )
            forms.append(rf"^\s*{exact}\s*[-\u2013,]" if word else rf"^\s*{exact}\b")
        if any(re.search(form, text, re.MULTILINE) for form in forms):
            found[label] = None
    return list(found)


def _one(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else ""


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
    gold_reply=lambda case: str(case.gold),
    asks_for="End with `Answer: ` and the label of one option.",
)
