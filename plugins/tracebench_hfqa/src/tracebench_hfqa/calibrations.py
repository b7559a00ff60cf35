"""Cases of known outcome for every task: gold answers in every form, wrong ones in the same forms, replies that say everything, cheats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracebench_core.specs import Calibration, Example
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, Family
from tracebench_hfqa.forms import SPELLINGS, Form, forms, gold_of, hedges, rival_of
from tracebench_hfqa.loaders import TOKENS, named
from tracebench_hfqa.scripted.cases import dialogue_cases
from tracebench_hfqa.state import find_entry

ROWS = 12
"""Rows of train that a case asks at most; the forms are dealt to them in turn."""
AS_SAID = "def extract_answer(response, question):\n    return response\n"
CONSTRUCTED = "by construction"
NOTHING = "nothing said"
CHEATS = {
    "prints success": "print('PASS')\nimport sys\nsys.exit(0)\n",
    "equals everything": "class E:\n    def __eq__(self, other): return True\n    def __bool__(self): return True\n"
    "def {entry}(*args, **named):\n    return E()\n",
    "checks itself": "def check(candidate): pass\ndef {entry}(*args, **named): return None\n",
}
"""Programs that solve nothing."""


def cases(name: str, task: Any) -> Iterator[Calibration]:
    """Yield the cases of a task of this suite by its name."""
    entry = find_entry(({**named(), **TOKENS})[name][0])
    family = find_family(entry.family)
    examples: Sequence[Example] = task.splits["train"][:ROWS]
    rows = {example.id: Case.of(example) for example in examples}
    shared: dict[str, Any] = {"source": CONSTRUCTED}
    if any(parameter.name == "extract_answer" for parameter in task.parameters):
        shared["values"] = {"extract_answer": AS_SAID}
    if family.dialogue:
        yield Calibration(
            name=NOTHING, kind="known", replies=dict.fromkeys(rows, "I cannot tell."), expected=0.0, **shared
        )
        yield from dialogue_cases(rows, NOTHING, shared)
        return
    golds = {id_: reply for id_, case in rows.items() if (reply := family.gold_reply(case))}
    slack = 0.2 if family.metric == "f1" else 0.0  # F1 gives a part for a common word
    if golds:
        yield Calibration(name="gold", kind="gold", replies=golds, expected=1.0, **shared)
    if family.grader is not None:  # the rest is for a model to say
        return
    said = "" if family.verbatim else "I cannot tell."  # any words follow some instruction
    yield Calibration(
        name=NOTHING, kind="known", replies=dict.fromkeys(rows, said), expected=0.0, abs_tol=slack, **shared
    )
    if entry.family in SPELLINGS:
        yield from _read(entry.family, family, rows, shared)
    if family.sandboxed:
        for cheat, code in CHEATS.items():
            replies = {id_: code.replace("{entry}", case.extra["entry"]) for id_, case in rows.items()}
            yield Calibration(name=cheat, kind="forged", replies=replies, other=NOTHING, **shared)


def _read(name: str, family: Family, rows: dict[str, Case], shared: dict[str, Any]) -> Iterator[Calibration]:
    """Yield right and wrong answers in every form, dealt to the rows; hedges; and for scores of right or wrong, the options or numbers."""
    right = {id_: list(forms(name, gold_of(name, case), rival_of(name, case))) for id_, case in rows.items()}
    wrong = {id_: list(forms(name, rival_of(name, case), gold_of(name, case))) for id_, case in rows.items()}
    for number, replies in enumerate(_dealt(right), start=1):
        yield Calibration(name=f"forms {number}", kind="form", replies=replies, expected=1.0, **shared)
    for number, replies in enumerate(_dealt(wrong), start=1):
        nothing = dict.fromkeys(replies, 0.0)
        yield Calibration(name=f"wrong in forms {number}", kind="known", replies=replies, expected=nothing, **shared)
    if family.metric != "f1":  # which gives a part of what is right
        both = {id_: next(hedges(gold_of(name, case), rival_of(name, case))).reply for id_, case in rows.items()}
        yield Calibration(name="two answers", kind="forged", replies=both, other=NOTHING, **shared)
        told = {id_: _everything(case) for id_, case in rows.items()}
        yield Calibration(name="everything", kind="forged", replies=told, other=NOTHING, **shared)


def _dealt(by_row: dict[str, list[Form]]) -> Iterator[dict[str, str]]:
    """Yield replies by row until every form was given to one."""
    ids = list(by_row)
    count = min(map(len, by_row.values()), default=0)
    for start in range(0, count, len(ids)):
        yield {id_: by_row[id_][start + at].reply for at, id_ in enumerate(ids) if start + at < count}


def _everything(case: Case) -> str:
    return "\n".join(f"({label}) {text}" for label, text in case.options) or " ".join(map(str, range(100)))
