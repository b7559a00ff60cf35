"""Learns a vocabulary: all single characters, and the most frequent pairs."""

import json
from collections import Counter

SIZE = 400


def learn(text):
    """Return at most SIZE pieces."""
    singles = sorted(set(text))
    pairs = Counter(text[i : i + 2] for i in range(len(text) - 1))
    return singles + [pair for pair, _ in pairs.most_common(SIZE - len(singles))]


if __name__ == "__main__":
    with open("train.txt", encoding="utf-8") as file:
        pieces = learn(file.read())
    with open("vocabulary.json", "w", encoding="utf-8") as file:
        json.dump(pieces, file)
