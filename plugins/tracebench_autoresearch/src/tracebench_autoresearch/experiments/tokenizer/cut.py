"""Cuts a text into the longest pieces of a vocabulary, which it reads as data."""

import json
import sys

MOST = 400


def main():
    with open("vocabulary.json", encoding="utf-8") as file:
        pieces = json.load(file)
    if not isinstance(pieces, list) or len(pieces) > MOST or not all(isinstance(p, str) and p for p in pieces):
        sys.exit(f"vocabulary.json must be a list of at most {MOST} texts")
    known, longest = set(pieces), max(map(len, pieces), default=1)
    text, place, count = sys.stdin.read(), 0, 0
    while place < len(text):
        length = next((n for n in range(min(longest, len(text) - place), 1, -1) if text[place : place + n] in known), 1)
        place, count = place + length, count + 1
    print(f"characters_per_piece: {len(text) / count:.6f}")


main()
