"""From replies to feedback: the family's official score, its metrics, and words that teach."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import pstdev
from typing import Any

from tracebench_core.contracts import Context, NotMeasured
from tracebench_core.specs import Example, Feedback
from tracebench_hfqa.families.family import CONTENT, Case, Family, Verdict, within_reach
from tracebench_hfqa.families.text import normalise
from tracebench_hfqa.oracle import content
from tracebench_hfqa.running import run_tests

QUESTION, REPLY, GOLD = 400, 600, 300
"""Characters of each that feedback shows."""
JUDGE = (
    "Question:\n{question}\n\nReference answer:\n{gold}\n\nAnswer to judge:\n{answer}\n\n"
    "Does the answer to judge mean the same as the reference answer? Reply with yes or no."
)


class QAGuide:
    """Scores each reply by the family's rules; several replies of one row by their mean."""

    def __init__(self, family: Family, *, seconds: float, judge: bool = False, oracle: bool = False) -> None:
        self._family, self._seconds, self._judge = family, seconds, judge
        self._oracle = oracle and family.read_as_answer
        self._heard: dict[str, Verdict] = {}

    def __call__(self, example: Example, output: Any, context: Context, /) -> Feedback:
        """Return the feedback on the replies of one row."""
        case = Case.of(example)
        replies: Sequence[dict[str, Any]] = output["replies"]
        verdicts = [self._verdict(reply["text"], case, context) for reply in replies]
        scores = [v.score for v in verdicts]
        metrics = _means(verdicts)
        if len(verdicts) > 1:
            metrics["spread"] = pstdev(scores)
        if self._oracle:
            told = [(reply["text"], reply.get("said") or "") for reply in replies]
            held = [max(content(text, self._family, case) for text in dict.fromkeys(texts)) for texts in told]
            metrics[CONTENT] = math.fsum(held) / len(held)
        if self._judge:
            metrics |= self._judged(case, verdicts, context)
        worst = scores.index(min(scores))
        text = self._words(case, verdicts[worst], replies[worst])
        return Feedback(score=math.fsum(scores) / len(scores), text=text, metrics=metrics)

    def _verdict(self, reply: str, case: Case, context: Context) -> Verdict:
        reply = reply if self._family.dialogue else within_reach(reply)  # one half of a dialogue is none
        if self._family.sandboxed:
            return run_tests(reply, case, context, seconds=self._seconds)
        if self._family.grader is not None:
            return self._graded(reply, case, context)
        return self._family.score(reply, case)

    def _graded(self, reply: str, case: Case, context: Context) -> Verdict:
        """Return the verdict of a model of the role `judge`; what it said of an answer to a question holds for that answer again."""
        assert self._family.grader is not None  # noqa: S101 - asked for above
        ask, hear = self._family.grader
        prompt = ask(reply, case)
        if not prompt:
            return self._family.score(reply, case)
        known = self._heard.get(prompt)
        if known is None:
            said = context.complete([{"role": "user", "content": prompt}], role="judge", temperature=0)[0].text
            known = hear(said, reply)
            if known is None:
                raise NotMeasured(f"the judge gave no grade, but {cut(said, GOLD)!r}")
            self._heard[prompt] = known
        return known

    def _words(self, case: Case, verdict: Verdict, reply: dict[str, Any]) -> str:
        """Say what was asked, what is right, what was read, which rule was broken, and which hop is missing."""
        if not verdict.rule and verdict.score >= 1:
            return "Right."
        asked = f"Question: {cut(case.question, QUESTION)}"
        said = f"Reply: {cut(reply['text'].strip() or '(empty)', REPLY)}"
        if self._family.sandboxed:
            return f"{asked}\n{said}\nThe program fails: {verdict.rule}"
        gold = cut(self._family.gold_reply(case), GOLD)
        parts = [asked, said, f"Right answer: {gold}" if gold else ""]
        parts.append(f"Read from the reply: {cut(verdict.extracted, GOLD) or 'nothing'}")
        parts.append(f"Score {verdict.score:.2f}. {verdict.rule}")
        if reply.get("evidence") is not None:
            parts.append(_missing_hop(case, str(reply["evidence"])))
        return "\n".join(part for part in parts if part)

    def _judged(self, case: Case, verdicts: Sequence[Verdict], context: Context) -> dict[str, float]:
        """Ask a model of each answer whether it means the gold one; where it says neither yes nor no of one, there is no metric."""
        said = [self._says_yes(case, verdict, context) for verdict in verdicts]
        known = [float(word) for word in said if word is not None]
        return {"judge": math.fsum(known) / len(known)} if len(known) == len(said) else {}

    def _says_yes(self, case: Case, verdict: Verdict, context: Context) -> bool | None:
        gold = self._family.gold_reply(case)
        prompt = JUDGE.format(question=case.question, gold=gold, answer=cut(verdict.extracted, REPLY))
        said = context.complete([{"role": "user", "content": prompt}], role="judge", temperature=0)[0].text
        word = re.match(r"\W*(yes|no)\b", said, re.IGNORECASE)
        return word[1].lower() == "yes" if word else None


class TokenGuide(QAGuide):
    """The same, with the tokens of the row as a second objective."""

    def __init__(self, family: Family, *, seconds: float, weight: float, judge: bool = False) -> None:
        super().__init__(family, seconds=seconds, judge=judge)
        self._weight = weight

    def __call__(self, example: Example, output: Any, context: Context, /) -> Feedback:
        """Return accuracy less the weighed tokens, which cost one point at most."""
        feedback = super().__call__(example, output, context)
        tokens = math.fsum(reply["tokens"] for reply in output["replies"]) / len(output["replies"])
        metrics = {**feedback.metrics, "accuracy": feedback.score, "error": 1 - feedback.score, "tokens": tokens}
        score = feedback.score - min(1.0, self._weight * tokens)
        return feedback.model_copy(
            update={"score": score, "metrics": metrics, "text": f"{feedback.text}\nTokens of this row: {tokens:g}."}
        )


def cut(text: str, length: int) -> str:
    """Return a text within a length: its beginning and its end."""
    if len(text) <= length:
        return text
    return f"{text[: length // 2]} … {text[-length // 2 :]}"


def _means(verdicts: Sequence[Verdict]) -> dict[str, float]:
    names = set.intersection(*(set(v.metrics) for v in verdicts))
    return {name: math.fsum(v.metrics[name] for v in verdicts) / len(verdicts) for name in sorted(names)}


def _missing_hop(case: Case, evidence: str) -> str:
    """Name the supporting paragraphs of which the evidence says nothing."""
    held = f" {normalise(evidence)} "
    missing = [title for title in case.support if f" {normalise(title)} " not in held]
    if not missing:
        return "The evidence names every supporting paragraph." if case.support else ""
    return f"`find_evidence` left out the paragraph {' and '.join(f'`{t}`' for t in missing)}."
