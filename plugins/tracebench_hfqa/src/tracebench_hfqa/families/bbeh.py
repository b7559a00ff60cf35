"""BIG-Bench Extra Hard (Kazemi et al. 2025), by the rules of its evaluate.py.

Two departures: the authors take the full stop from the prediction and leave it on the reference, so that no reply could match a
sentence; here the sentence does. And an answer may also stand in tags, JSON, a box, or after "Answer:"; what is marked so counts,
where the authors would take another answer from the same reply: nobody has two. The headline of a whole BBEH run is the harmonic
mean over subtasks of accuracy plus one percentage point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracebench_hfqa.families.answer import UNIT, marked, readings, spoken
from tracebench_hfqa.families.family import Case, Family, Fields, Verdict, gold_of, text_of

PREFIXES = ("The answer is:", "The final answer is ", "The final answer is: ", "The answer is ")
WRAPPERS = ("boxed{", "text{", "texttt{")
LABELLED = 3
"""Length of `(a)`."""
WORDS = re.compile(r"\([a-z]\)|[^\W\d_]+(?:[ -][^\W\d_]+)*")


def read(row: Mapping[str, Any], fields: Fields) -> Case:
    """Read a row of `input` and `target`."""
    return Case(question=text_of(row, fields.question), gold=str(gold_of(row, fields.answer)))


def extract(reply: str) -> str:
    """Return the prediction: after the last known prefix, unwrapped, in lower case, its first line."""
    answer = reply.strip()
    for prefix in PREFIXES:
        if prefix in answer:
            answer = answer.split(prefix)[-1].strip()
    answer = _unwrapped(answer.removesuffix(".")).lower()
    return answer.replace(", ", ",").replace("**", "").split("\n")[0].removesuffix(".")


def is_match(prediction: str, reference: str) -> bool:
    """Compare an extracted prediction with a reference in lower case, by the authors' rules in their order."""
    if prediction == reference:
        return True
    for one, other in ((prediction, reference), (reference, prediction)):
        if len(one) == LABELLED and one[0] == "(" and one[-1] == ")":
            return one[1] == other
    try:
        if float(prediction) == float(reference):
            return True
    except ValueError:
        pass
    return (
        prediction.replace("'", "") == reference.replace("'", "")
        or f"[{reference}]" == prediction
        or f"[{prediction}]" == reference
        or (prediction.endswith("?") and prediction[:-1] == reference)
    )


def score(reply: str, case: Case) -> Verdict:
    """Score 1 or 0."""
    reference = str(case.gold).strip().lower().replace(", ", ",")
    found = _predictions(reply)
    extracted = next((f for f in found if _is_right(f, reference)), found[-1])
    right = float(_is_right(extracted, reference))
    return Verdict(
        score=right, metrics={"accuracy": right}, extracted=extracted, rule="" if right else _rule(reply, extracted)
    )


def _predictions(reply: str) -> list[str]:
    """Return the ways to read the one answer of a reply; the last is the answer."""
    found = [extract(reply), *map(extract, readings(reply))]
    said = [*map(extract, marked(spoken(reply)))]
    if not any(0 < len(one.split()) <= UNIT for one in said):
        return found
    return [one for one in found if any(_is_same(one, other) for other in said)]


def _is_same(one: str, other: str) -> bool:
    """Tell whether two predictions are one answer, or one of them says it with more words: never a number, which goes on as another."""
    short, long = sorted((one, other), key=len)
    goes_on = WORDS.fullmatch(short) and long.startswith(short) and not long[len(short) : len(short) + 1].isalnum()
    return is_match(one, other) or bool(goes_on)


def _is_right(prediction: str, reference: str) -> bool:
    return is_match(prediction, reference) or (reference.endswith(".") and prediction == reference[:-1])


def _unwrapped(answer: str) -> str:
    if answer.startswith("$") and answer.endswith("$"):
        answer = answer[1:-1]
    for wrapper in WRAPPERS:
        if wrapper in answer and answer.endswith("}"):
            answer = answer[:-1].split(wrapper)[1]
    return answer


def _rule(reply: str, extracted: str) -> str:
    if not extracted:
        return "The reply holds no answer."
    if not any(prefix in reply for prefix in PREFIXES) and len(reply.strip()) > len(extracted):
        return 'No "The final answer is: …" was found, so the first line of the whole reply was taken as the answer.'
    return "The answer is another one, or not in the expected form."


FAMILY = Family(
    metric="accuracy",
    read=read,
    score=score,
    version=4,
    gold_reply=lambda case: str(case.gold),
    asks_for='End with "The final answer is: " and the answer: (A) or (B) for a choice, else a number, a word or a list.',
)
