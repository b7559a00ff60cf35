"""IFEval (Zhou et al. 2023): a prompt with one to three instructions that a program can check; right is a reply that follows all.

The score is the authors' strict accuracy of prompts. Beside it are their loose one, and the share of a row's instructions that are
followed, strictly and loosely; over rows the authors weigh instructions alike, and a mean of shares weighs prompts alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracebench_core.specs import Requirement
from tracebench_hfqa.families.family import Case, Family, Fields, RowError, Verdict, column, text_of
from tracebench_hfqa.families.instructions import CHECKS, SETTINGS, fault_of, follows, loosened

GIVEN = "instruction_id_list"
FOLLOWED = "followed"
"""Column of a reply that follows all of a row's instructions; our own rows have it."""


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of a prompt, the names of its instructions, and the settings of each."""
    names, told = column(row, GIVEN), column(row, "kwargs")
    if not isinstance(names, list) or not isinstance(told, list) or len(names) != len(told) or not names:
        raise RowError(f"has no settings for each instruction in columns `{GIVEN}` and `kwargs`")
    settings = []
    for name, given in zip(names, told, strict=True):
        if name not in CHECKS:
            raise RowError(f"names the instruction `{name}`, which is none of IFEval's {len(CHECKS)}")
        kept = {key: value for key, value in (given or {}).items() if value is not None}
        if missing := [key for key in SETTINGS.get(name, ()) if key not in kept]:
            raise RowError(f"gives no `{missing[0]}` for the instruction `{name}`")
        if fault := fault_of(name, kept):
            raise RowError(f"cannot be checked by the instruction `{name}`: {fault}")
        settings.append(kept)
    gold = str(row.get(FOLLOWED) or "")
    return Case(question=text_of(row, fields.question), gold=gold, extra={"instructions": names, "settings": settings})


def score(reply: str, case: Case) -> Verdict:
    """Score 1 when every instruction is followed as it stands."""
    given = [*zip(case.extra["instructions"], case.extra["settings"], strict=True)]
    strict = [follows(reply, name, told) for name, told in given]
    loose = [any(follows(text, name, told) for text in loosened(reply)) for name, told in given]
    broken = [name for (name, _), is_followed in zip(given, strict, strict=True) if not is_followed]
    right = float(all(strict))
    metrics = {
        "prompt_strict": right,
        "prompt_loose": float(all(loose)),
        "instruction_strict": sum(strict) / len(strict),
        "instruction_loose": sum(loose) / len(loose),
    }
    rule = f"Not followed: {', '.join(f'`{name}`' for name in broken)}." if broken else ""
    return Verdict(score=right, metrics=metrics, extracted=reply.strip(), rule=rule)


FAMILY = Family(
    metric="prompt_strict",
    read=read,
    score=score,
    gold_reply=lambda case: str(case.gold),
    asks_for="Follow every instruction of the prompt to the letter.",
    requires=(Requirement(kind="module", name="langdetect", hint='pip install "tracebench-hfqa[ifeval]"'),),
    verbatim=True,
    version=2,
)
