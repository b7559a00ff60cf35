"""Exact match and token F1 as SQuAD v1.1 defines them (Rajpurkar et al. 2016, evaluate-v1.1), which most data sets took over."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower the text, then take out punctuation, articles and surplus space, in the official order."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def whole_characters(text: str) -> str:
    """Return a text that came out of JSON without halves of characters, which can be written nowhere and asked of no model."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def exact(prediction: str, gold: str) -> float:
    """Return 1 when both are equal after normalisation; an empty one never matches."""
    one = normalise(prediction)
    return float(bool(one) and one == normalise(gold))


def token_f1(prediction: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall over the normalised tokens, as bags."""
    one, other = normalise(prediction).split(), normalise(gold).split()
    same = sum((Counter(one) & Counter(other)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(one), same / len(other)
    return 2 * precision * recall / (precision + recall)


def settled(readings: Sequence[str], golds: Sequence[str]) -> str:
    """Return the reading of a reply that equals a gold answer after normalisation, else the last, which is its answer."""
    return next((r for r in readings if any(exact(r, gold) for gold in golds)), readings[-1])


def words(*, gold: str, extracted: str) -> str:
    """Say in one sentence how an answer differs from the gold one."""
    got, wanted = normalise(extracted).split(), normalise(gold).split()
    if not got:
        return "The reply holds no answer."
    if len(got) > 3 * len(wanted) + 3 and token_f1(extracted, gold) > 0:
        return f"The answer has {len(got)} words where {len(wanted)} are right: only the answer itself counts."
    if set(wanted) < set(got):
        return "The answer holds the right words and others besides; the others must go."
    if set(got) & set(wanted):
        return "The answer is right in part only."
    return "The answer is another one."
