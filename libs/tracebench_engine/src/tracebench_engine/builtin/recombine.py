"""`Recombine`: a proposer that asks no model. It writes texts anew from the sentences of earlier candidates and a list of phrases.

A baseline for proposers that ask one, and a way to compare trainers where no model is good enough to propose: each proposal adds a
sentence, drops one, puts one in another's place, or joins halves of two candidates. The job's own generator decides, so that a job can
be repeated.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Problem
from tracebench_core.errors import ConfigError
from tracebench_core.proposing.intake import Intake
from tracebench_core.specs import Evaluation, Parameter, Values

SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
PHRASES = (
    "Answer with one word.", "Give only the answer.", "Answer in one short sentence.", "Reply with the answer and nothing else.",
    "Answer yes or no.", "Answer with a numbered list.", "Separate the items by commas.", "Copy the answer from the text.",
    "Reply with one word: positive or negative.", "Write `Answer: ` before the answer.", "Think step by step.",
    "Explain your answer in detail.", "Be brief.", "Be precise.", "Check your answer.", "Use no punctuation.",
    "Use the words of the question.", "Name it.", "Do not repeat the question.", "You are an expert.",
)  # fmt: skip
"""What is drawn from where the settings name nothing: directions as people write them, of which most help no given task."""
LONGEST = 8
"""Sentences of a text, beyond which none is added."""
ATTEMPTS = 20
"""Draws for one proposal, of which the first that is new is taken."""


class RecombineSettings(BaseModel):
    """What may be set of `Recombine`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    phrases: tuple[str, ...] = Field(default=PHRASES, min_length=1)
    """Sentences that may be added to a text."""


def build(problem: Problem, **settings: Any) -> Recombine:
    """Return the proposer for a problem; the loader of the optimizer `Recombine`.

    Raises:
        ConfigError: when the problem has no text to recombine.
    """
    return Recombine(problem, RecombineSettings(**settings))


class Recombine:
    """Proposes by recombination; see the module."""

    def __init__(self, problem: Problem, settings: RecombineSettings) -> None:
        self._problem = problem
        self._phrases = settings.phrases
        self._intake = Intake(problem)
        self._texts = [p for p in problem.parameters if p.kind == "text"]
        if not self._texts:
            raise ConfigError("`Recombine` needs a parameter of the kind `text`, and the task has none.")

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        """Return up to `n` different recombinations of the last of `evaluations` with the others."""
        base = evaluations[-1].candidate.values if evaluations else self._problem.initial
        others = [e.candidate.values for e in evaluations[:-1]]
        known = {_mark(values) for values in (base, *others)}
        found = []
        for _ in range(n):
            if (suggestion := self._draw(base, others, known)) is None:
                continue
            values = self._intake.take(base, suggestion)
            if values is not None:
                known.add(_mark(values))
                found.append(values)
        return found

    def _draw(self, base: Values, others: Sequence[Values], known: set[str]) -> Values | None:
        rng = self._problem.rng
        for _ in range(ATTEMPTS):
            parameter: Parameter = rng.choice(self._texts)
            sentences = _sentences(base[parameter.name])
            mates = [_sentences(values[parameter.name]) for values in others]
            written = " ".join(recombined(sentences, mates, self._phrases, rng))
            suggestion: Values = {parameter.name: written}
            if written and _mark({**base, **suggestion}) not in known:
                return suggestion
        return None


def recombined(
    sentences: Sequence[str], mates: Sequence[Sequence[str]], phrases: Sequence[str], rng: random.Random
) -> list[str]:
    """Return a text's sentences after one random change; `mates` are the sentences of other texts."""
    own = list(sentences)
    fresh = [p for p in (*phrases, *(s for mate in mates for s in mate)) if p not in own]
    change = rng.choice(("add", "add", "drop", "replace", "replace", "join"))
    if change == "join" and mates:
        mate = rng.choice(mates)
        joined = [*own[: rng.randint(0, len(own))], *mate[rng.randint(0, len(mate)) :]]
        return list(dict.fromkeys(joined))
    if change == "drop" and len(own) > 1:
        own.pop(rng.randrange(len(own)))
    elif change == "replace" and own and fresh:
        own[rng.randrange(len(own))] = rng.choice(fresh)
    elif fresh and len(own) < LONGEST:
        own.insert(rng.randint(0, len(own)), rng.choice(fresh))
    return own


def _sentences(value: object) -> list[str]:
    return [part.strip() for part in SENTENCE.split(str(value)) if part.strip()]


def _mark(values: Values) -> str:
    return repr(sorted(values.items(), key=lambda item: item[0]))
