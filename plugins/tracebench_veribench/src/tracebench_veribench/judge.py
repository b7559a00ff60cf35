"""An optional second opinion on how well a file's theorems cover the specification: a metric of its own, never part of the score."""

from __future__ import annotations

import json
import re

from tracebench_core.contracts import Context
from tracebench_veribench.prover import Assignment, Language

_SYSTEM = """You judge how faithfully a {language} file specifies a program. Compare its theorems with the required properties.
Give full credit for a property only if a theorem states it in full strength and its proof is complete.
Give at most a third of the credit for a property that is stated but left unproven ({holes}).
Give no credit for a property that is weakened to something trivially true, or only mentioned in a comment.
Answer with one JSON object: {{"score": <number from 0 to 1>, "reason": "<one sentence>"}}"""
_HOLES = {"coq": "`Admitted`, an axiom", "lean": "`sorry`, an axiom"}


def judge(assignment: Assignment, language: Language, text: str, context: Context) -> float | None:
    """Return the judge's score in [0, 1] (role `judge`); None when its answer holds none."""
    properties = (
        "\n".join(f"- {name}: {statement}" for name, statement in assignment.requirements.items()) or assignment.prompt
    )
    messages = [
        {"role": "system", "content": _SYSTEM.format(language=language.title, holes=_HOLES[language.name])},
        {"role": "user", "content": f"Required properties:\n{properties}\n\nFile:\n```{language.name}\n{text}\n```"},
    ]
    reply = context.complete(messages, role="judge", temperature=0.0)[0].text
    match = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        score = json.loads(match.group())["score"] if match else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None
    return float(score)
