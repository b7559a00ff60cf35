"""Sentences that help, harm, or help only together: what a prompt of these fields is made of."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

SENTENCES = (
    "Answer in one line.", "Quote the line that you rely on.", "Work backwards from the goal.", "List what is given first.",
    "Check the units.", "Name the source of each figure.", "Consider the opposite.", "Use a table.", "State your confidence.",
    "Ask what is missing.", "Restate the question.", "Round to two places.", "Prefer the newest record.", "Ignore small talk.",
    "Write the answer last.", "Think of an example.", "Count twice.", "Mention every exception.", "Use plain words.",
    "Keep the order of the input.", "Split the task into parts.", "Compare with last year.", "Be brief.", "Explain each step.",
)  # fmt: skip
"""Which of them helps is drawn for each field; their words give no hint."""


class Weights(NamedTuple):
    """What each sentence is worth alone, and each pair of them besides."""

    alone: tuple[float, ...]
    pairs: dict[tuple[int, int], float]

    def worth(self, held: int) -> float:
        """Return the worth of a set of sentences, given as bits."""
        total = sum(w for i, w in enumerate(self.alone) if held >> i & 1)
        return total + sum(w for (i, j), w in self.pairs.items() if held >> i & 1 and held >> j & 1)


class Clauses:
    """A drawn set of sentences with a known best choice among them.

    `quality` is 1 for the best choice, `base` for the one that the field starts with, and never below 0.
    """

    def __init__(self, rng: random.Random, count: int, *, deception: float, base: float) -> None:
        self.sentences = rng.sample(SENTENCES, count)
        self._weights = _drawn(rng, count, deception)
        worth = [self._weights.worth(held) for held in range(1 << count)]
        self.start = 1 << rng.choice([i for i, w in enumerate(self._weights.alone) if w < 0])
        self.best = max(range(1 << count), key=worth.__getitem__)
        low, high = worth[self.start], worth[self.best]
        self._quality = [max(0.0, base + (1 - base) * (w - low) / (high - low)) for w in worth]
        self._moves: dict[tuple[int, bool], list[int]] = {}

    def quality(self, held: int) -> float:
        """Return how good a choice of sentences is."""
        return self._quality[held]

    def read(self, text: str) -> int:
        """Return the sentences that a text holds, in any order and case, as bits."""
        text = " ".join(text.casefold().split())
        return sum(1 << i for i, sentence in enumerate(self.sentences) if sentence.casefold() in text)

    def write(self, held: int, opening: str) -> str:
        """Return a text that holds these sentences."""
        return " ".join([opening, *(s for i, s in enumerate(self.sentences) if held >> i & 1)])

    def better(self, held: int, rng: random.Random) -> int:
        """Return a choice that is better by one sentence, else by a pair of them; the same where there is none."""
        return self._moved(held, rng, up=True)

    def worse(self, held: int, rng: random.Random) -> int:
        """Return a choice that is worse by one sentence, else by a pair of them; the same where there is none."""
        return self._moved(held, rng, up=False)

    def hint(self, held: int, rng: random.Random) -> str:
        """Say of one sentence what to do with it; nothing where nothing helps."""
        changed = held ^ self.better(held, rng)
        if not changed:
            return ""
        first = changed & -changed
        verb = "Leave out" if held & first else "It lacks"
        return f"{verb}: “{self.sentences[first.bit_length() - 1]}”"

    def _moved(self, held: int, rng: random.Random, *, up: bool) -> int:
        if (held, up) not in self._moves:
            self._moves[held, up] = self._found(held, up=up)
        return rng.choice(self._moves[held, up])

    def _found(self, held: int, *, up: bool) -> list[int]:
        """Return the choices that `_moved` chooses from; a hint asks for them with every example that fails."""
        bits = [1 << i for i in range(len(self.sentences))]
        here = self._quality[held]
        for flips in (bits, [a | b for a, b in itertools.combinations(bits, 2)]):
            moved = [
                held ^ f for f in flips if (self._quality[held ^ f] > here if up else self._quality[held ^ f] < here)
            ]
            if moved:
                return moved
        return [held]


def _drawn(rng: random.Random, count: int, deception: float) -> Weights:
    """Draw weights: half of the sentences help, the others harm; of those that help, a share does so only in pairs."""
    order = rng.sample(range(count), count)
    helpful, harmful = order[: count // 2], order[count // 2 :]
    alone = [0.0] * count
    for i in helpful:
        alone[i] = rng.uniform(0.5, 1.5)
    for i in harmful:
        alone[i] = -rng.uniform(0.3, 1.0)
    pairs = {tuple(sorted(rng.sample(range(count), 2))): rng.gauss(0.0, 0.2) for _ in range(count)}
    bound = helpful[: 2 * min(round(deception * len(helpful) / 2), len(helpful) // 2)]
    for i, j in zip(bound[::2], bound[1::2], strict=True):
        pairs[min(i, j), max(i, j)] = alone[i] + alone[j] + 0.9
        alone[i], alone[j] = -0.3, -0.3
    return Weights(tuple(alone), {(i, j): w for (i, j), w in pairs.items()})
